// node times.mjs MODULE PARAMETERS [RUNS]: milliseconds and memory of a fresh process; prints JSON. `cold` is from the
// module's bytes to a secret key; key, encrypt and decrypt are the least of RUNS.
// node times.mjs MODULE URL MODEL: the seconds of a first answer, from the module's bytes, with making and sending keys.
import { readFileSync } from 'node:fs';
import { Client } from '../client.mjs';
import { Hemera } from '../hemera-client.mjs';

const [file, given, last] = process.argv.slice(2);
const bytes = new Uint8Array(readFileSync(file));

const least = (body, runs) => {
  let best = Infinity;
  let result;
  for (let i = 0; i < runs; i += 1) {
    const began = performance.now();
    result = body();
    best = Math.min(best, performance.now() - began);
  }
  return [best, result];
};

async function client(url, model) {
  const began = performance.now();
  const asking = await Client.connect(url, process.env.HEMERA_TOKEN, bytes);
  const count = Number(process.env.HEMERA_VALUES);
  const { results } = await asking.predict(model, { x: Float64Array.from({ length: count }, (_, i) => (i % 17) / 17) });
  const first = (performance.now() - began) / 1e3;
  asking.close();
  return { first, values: Array.from(Object.values(results)[0].values) };
}

async function core(parameters, runs) {
  const began = performance.now();
  const hemera = await Hemera.load(bytes);
  const context = hemera.openContext(parameters);
  const secret = context.generateSecretKey();
  const cold = performance.now() - began;
  const values = Float64Array.from({ length: context.describe().slots }, (_, i) => Math.sin(i));
  const [encrypt, ciphertext] = least(() => secret.encrypt(values), runs);
  const [decrypt, found] = least(() => secret.decrypt(ciphertext), runs);
  const [key] = least(() => secret.generateKeys([{ kind: 'relinearization' }]), runs);
  const ten = secret.generateKeys(Array.from({ length: 10 }, (_, i) => ({ kind: 'rotation', steps: i + 1 })));
  const error = found.reduce((most, value, i) => Math.max(most, Math.abs(value - values[i])), 0);
  const memory = hemera.functions.memory.buffer.byteLength;
  return { cold, key, encrypt, decrypt, error, memory, ten_keys: ten.length };
}

const asks = /^https?:/.test(given);
console.log(JSON.stringify(await (asks ? client(given, last) : core(new Uint8Array(readFileSync(given)), Number(last ?? 5)))));
