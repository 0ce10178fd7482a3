// node predict.mjs MODULE ASKED: asks a server, as the JSON file says, and prints what it answers.
import { readFile } from 'node:fs/promises';

import { Client } from '../client.mjs';

const [module, file] = process.argv.slice(2);
const { url, token, asked, security } = JSON.parse(await readFile(file, 'utf8'));
const client = await Client.connect(url, token, await readFile(module), { security });
const told = { models: await client.models(), answers: [], events: [] };
const failed = (error) => ({ error: error.name, code: error.code, text: error.message });
for (const { model, arrays } of asked) {
  const events = {};
  const progress = (what, done, all) => { events[what] = [...(events[what] ?? []), [done, all]]; };
  told.answers.push(await client.predict(model, arrays, { progress }).catch(failed));
  told.events.push(events);
}
console.error('ready'); // the test replaces a model now
await new Promise((resolve) => { process.stdin.once('data', resolve); });
process.stdin.pause();
told.replaced = await client.predict(asked[0].model, asked[0].arrays).catch(failed);
const stopped = AbortSignal.abort();
told.aborted = await client.predict(asked[0].model, asked[0].arrays, { signal: stopped }).catch((error) => error.name);
client.close();
const stranger = await Client.connect(url, 'another token', await readFile(module));
told.stranger = await stranger.models().catch(failed);
console.log(JSON.stringify(told));
