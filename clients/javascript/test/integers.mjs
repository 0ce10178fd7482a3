// node integers.mjs MODULE FOLDER: encrypts arrays by maps.json, or decrypts the files that are in FOLDER/answers.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Hemera } from '../hemera-client.mjs';
import { Integers } from '../integers.mjs';

const [module, folder] = process.argv.slice(2);
const file = (...names) => join(folder, ...names);
const read = (...names) => new Uint8Array(readFileSync(file(...names)));
const failure = (made) => made.then(() => null, ({ name, message }) => `${name}: ${message}`);
const hemera = await Hemera.load(new Uint8Array(readFileSync(module)));
const maps = JSON.parse(readFileSync(file('maps.json'), 'utf8'));
const told = {};
if (existsSync(file('answers'))) {
  const integers = new Integers(hemera, maps, { security: 0, secretKey: read('secret') });
  for (const name of readdirSync(file('answers'))) {
    const { values, shape } = await integers.decrypt(read('answers', name));
    told[name] = { type: values.constructor.name, values: Array.from(values, String), shape };
  }
  const damaged = read('answers', 'uint8');
  damaged[40] ^= 1;
  const other = new Integers(hemera, maps, { security: 0 });
  told.errors = [await failure(integers.decrypt(damaged)), await failure(other.decrypt(read('answers', 'uint8')))];
} else {
  const integers = new Integers(hemera, maps, { security: 0 });
  writeFileSync(file('secret'), integers.secret.save());
  const whole = JSON.parse(readFileSync(file('numbers.json'), 'utf8'));
  const put = async (name, values, options) => writeFileSync(file(name), await integers.encrypt(values, options));
  await put('uint8', Uint8Array.from(whole), { shape: [2, whole.length / 2] });
  await put('int16', Int16Array.from(whole), { levels: maps.product_levels });
  await put('bool', whole.map((each) => each > 0), { levels: 0 });
  await put('int8', Int8Array.of(-128));
  if (maps.bits === 64) {
    const wide = whole.map((each) => BigInt(each) * 2n ** 48n + 1n);
    await put('int64', BigInt64Array.from(wide));
    await put('uint64', BigUint64Array.from(wide), { levels: 0 });
  }
  told.errors = [
    await failure(integers.encrypt(new Uint32Array(1))),
    await failure(integers.encrypt([1, 2])),
    await failure(integers.encrypt(new Uint8Array(3), { shape: [2] })),
    await failure(integers.encrypt(new Uint8Array(1), { levels: maps.levels + 1 })),
  ];
  try {
    told.errors.push(new Integers(hemera, maps));
  } catch ({ name }) {
    told.errors.push(name);
  }
}
console.log(JSON.stringify(told));
