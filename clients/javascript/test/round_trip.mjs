// node round_trip.mjs MODULE FOLDER: for each scheme's file of parameters in FOLDER, makes a secret key, keys and a
// ciphertext of numbers.json, and decrypts answer files that are there. Prints JSON.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Hemera } from '../hemera-client.mjs';

const [module, folder] = process.argv.slice(2);
const bytes = new Uint8Array(readFileSync(module));
const file = (name) => join(folder, name);
const read = (name) => new Uint8Array(readFileSync(file(name)));
const failure = (body) => {
  try {
    body();
    return null;
  } catch (error) {
    return [error.name, error.message];
  }
};

const imports = WebAssembly.Module.imports(await WebAssembly.compile(bytes)).map(({ module, name }) => `${module}.${name}`);
const hemera = await Hemera.load(bytes);
const found = { imports, version: hemera.version, schemes: {} };
for (const scheme of ['ckks', 'bfv', 'bgv']) {
  const context = hemera.openContext(read(`${scheme}.parameters`));
  const exists = existsSync(file(`${scheme}.secret`));
  const secret = exists ? context.loadSecretKey(read(`${scheme}.secret`)) : context.generateSecretKey();
  const numbers = JSON.parse(readFileSync(file('numbers.json'), 'utf8'));
  const values = scheme === 'ckks' ? Float64Array.from(numbers) : BigInt64Array.from(numbers.map(BigInt));
  const of = { describes: context.describe() };
  if (!exists) {
    writeFileSync(file(`${scheme}.secret`), secret.save());
    writeFileSync(file(`${scheme}.keys`), secret.generateKeys(
      [{ kind: 'rotation', steps: 1 }, { kind: 'public', level: 0 }, { kind: 'relinearization' }, { kind: 'conjugation' }]));
    writeFileSync(file(`${scheme}.x`), secret.encrypt(values, { rows: 2 }));
    of.errors = {
      kind: failure(() => secret.generateKeys([{ kind: 'other' }])),
      rows: failure(() => secret.encrypt(values, { rows: 3 })),
      level: failure(() => secret.encrypt(values, { level: 99 })),
      numbers: failure(() => secret.encrypt([1, 2])),
      security: failure(() => hemera.openContext(read(`${scheme}.parameters`), 512)),
      damaged: failure(() => secret.decrypt(read(`${scheme}.x`).slice(0, -1))),
    };
  } else {
    of.answer = Array.from(secret.decrypt(read(`${scheme}.answer`)), Number);
  }
  secret.free();
  context.free();
  found.schemes[scheme] = of;
}
// Sizes that 32 bits do not hold, in files of their own parameters.
if (existsSync(file('beyond-32-bits'))) {
  const context = hemera.openContext(read('beyond-32-bits/parameters'), 0);
  const secret = context.loadSecretKey(read('beyond-32-bits/secret'));
  found.forged = ['slots', 'batch'].map((field) => failure(() => secret.decrypt(read(`beyond-32-bits/${field}`))));
}
console.log(JSON.stringify(found));
