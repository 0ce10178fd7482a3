// node search.mjs MODULE ASKED: asks a server's indexes, as the JSON file says, and prints what it answers.
import { readFile } from 'node:fs/promises';

import { Client } from '../client.mjs';

const [module, file] = process.argv.slice(2);
const { url, token, asked } = JSON.parse(await readFile(file, 'utf8'));
const client = await Client.connect(url, token, await readFile(module), { security: 0 });
const told = { indexes: await client.indexes(), answers: [], events: [] };
const { fetch: plain } = globalThis;
let last; // an answer's bytes

/** Answers that come with one bit turned, at a share of their bytes, cut by so many (-1), or in the place of the next. */
const altered = (how) => async (address, options) => {
  const response = await plain(address, options);
  if (options.method !== 'POST' || !response.ok) return response;
  const bytes = new Uint8Array(await response.arrayBuffer());
  let sent = bytes;
  if (how === 'replayed') sent = last;
  else if (how < 0) sent = bytes.subarray(0, how);
  else if (how !== null) sent = bytes.map((each, i) => (i === Math.floor(how * bytes.length) ? each ^ 1 : each));
  last = bytes;
  return new Response(sent, { headers: response.headers });
};

for (const { call, given, secret, how } of asked) {
  if (call === 'wait') {
    console.error('ready'); // the test replaces an index now
    await new Promise((resolve) => { process.stdin.once('data', resolve); });
    process.stdin.pause();
    continue;
  }
  globalThis.fetch = altered(how);
  const options = typeof given.at(-1) === 'object' && !Array.isArray(given.at(-1)) ? given.pop() : {};
  if (secret && options.secretKey === undefined) options.secretKey = new Uint8Array(Buffer.from(secret, 'base64'));
  const events = [];
  options.progress = (what) => { if (what !== events.at(-1)) events.push(what); };
  told.answers.push(await client[call](...given, options).catch((error) => ({ error: error.name, code: error.code, text: error.message })));
  told.events.push(events);
}
client.close();
console.log(JSON.stringify(told));
