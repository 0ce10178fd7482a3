// node search.mjs MODULE ASKED: asks a server's indexes, as the JSON file says, and prints what it answers.
import { readFile } from 'node:fs/promises';

import { Client } from '../client.mjs';

const [module, file] = process.argv.slice(2);
const { url, token, asked } = JSON.parse(await readFile(file, 'utf8'));
const client = await Client.connect(url, token, await readFile(module), { security: 0 });
const told = { indexes: await client.indexes(), answers: [], events: [] };
for (const { call, given, secret } of asked) {
  const options = typeof given.at(-1) === 'object' && !Array.isArray(given.at(-1)) ? given.pop() : {};
  if (secret && options.secretKey === undefined) options.secretKey = new Uint8Array(Buffer.from(secret, 'base64'));
  const events = [];
  options.progress = (what) => { if (what !== events.at(-1)) events.push(what); };
  told.answers.push(await client[call](...given, options).catch((error) => ({ error: error.name, code: error.code, text: error.message })));
  told.events.push(events);
}
client.close();
console.log(JSON.stringify(told));
