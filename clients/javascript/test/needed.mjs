// node needed.mjs MODULE FOLDER: the keys of the lists that FOLDER/asked.json names: [{ parameters, needed, security }],
// with random bytes that begin anew for each. Prints JSON: of each the digests of the secret key and of the keys, and the
// number of pieces; or the error's name and text.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Hemera } from '../hemera-client.mjs';

const [module, folder] = process.argv.slice(2);
const read = (name) => new Uint8Array(readFileSync(join(folder, name)));
let place = 0;
const getRandomValues = (out) => {
  for (let i = 0; i < out.length; i += 1) out[i] = Math.imul(place + i, 0x9e3779b1) >>> 24;
  place += out.length;
  return out;
};
Object.defineProperty(globalThis, 'crypto', { value: { getRandomValues } });
const hemera = await Hemera.load(new Uint8Array(readFileSync(module)));
const digest = (pieces) => pieces.reduce((hash, each) => hash.update(each), createHash('sha256')).digest('hex');
const found = JSON.parse(readFileSync(join(folder, 'asked.json'), 'utf8')).map(({ parameters, needed, security }) => {
  place = 0;
  let [context, secret] = [null, null];
  try {
    context = hemera.openContext(read(parameters), security);
    secret = context.generateSecretKey();
    const pieces = [];
    secret.writeKeys(read(needed), (piece) => pieces.push(piece));
    return { secret: digest([secret.save()]), keys: digest(pieces), pieces: pieces.length };
  } catch (error) {
    return { error: error.name, text: error.message };
  } finally {
    secret?.free();
    context?.free();
  }
});
console.log(JSON.stringify(found));
