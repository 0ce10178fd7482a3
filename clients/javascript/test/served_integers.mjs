// node served_integers.mjs MODULE ASKED: asks a server for functions of encrypted integers, as the JSON file says:
// { url, token, asked: [{ model, arrays: { name: [dtype, [values as texts]] } }] }. Prints what it answers.
import { readFile } from 'node:fs/promises';

import { Client } from '../client.mjs';

const [module, file] = process.argv.slice(2);
const { url, token, asked } = JSON.parse(await readFile(file, 'utf8'));
const types = { uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array, uint32: Uint32Array, int32: Int32Array,
  uint64: BigUint64Array, int64: BigInt64Array };
const arrayOf = ([dtype, texts]) => {
  if (dtype === 'bool') return texts.map((each) => each === 'True');
  if (dtype === 'list') return texts.map(Number);
  return types[dtype].from(texts, types[dtype].BYTES_PER_ELEMENT === 8 ? BigInt : Number);
};
const client = await Client.connect(url, token, await readFile(module), { security: 0 });
const answers = [];
for (const { model, arrays } of asked) {
  const given = Object.fromEntries(Object.entries(arrays).map(([name, each]) => [name, arrayOf(each)]));
  try {
    const { results: { output } } = await client.predict(model, given);
    answers.push({ kind: output.values.constructor.name, shape: output.shape, values: Array.from(output.values, String) });
  } catch (error) {
    answers.push({ error: error.name, code: error.code, text: error.message });
  }
}
const inputs = await client.inputs(asked[0].model);
client.close();
console.log(JSON.stringify({ answers, inputs }));
