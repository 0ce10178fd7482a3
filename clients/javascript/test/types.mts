// Compiled by tsc --strict: what programs in TypeScript write, and what they must not.
import { Client, ServerError, type Prediction } from '../client.mjs';
import { Client as InWorker } from '../worker-client.mjs';
import { Hemera } from '../hemera-client.mjs';
import { Integers, type IntegerMaps } from '../integers.mjs';

const client: Client = await Client.connect('http://127.0.0.1:8000', 'token', new Uint8Array(3), { security: 192 });
const told: Prediction = await client.predict('scores', { x: [[1, 2], [3, 4]], y: new Float32Array(2) }, {
  progress: (what, done, all) => console.log(what === 'keys', done / all),
});
const shape: number[] = told.results.output!.shape;
const status = (error: unknown): number => (error instanceof ServerError ? error.status : shape.length);
const secret = (await Hemera.load('hemera_client.wasm')).openContext(new Uint8Array(3)).generateSecretKey();
const file: Uint8Array = secret.encrypt(Float64Array.of(1, 2), { rows: 1 });
const found: number[] = (await client.search('rows', new Float32Array(8), { k: null })).ids;
const several: number[] = (await client.search('rows', [[1, 2], [3, 4]], { threshold: 0.5, payloads: true })).map(({ ids }) => ids.length);
const counts: number[] = await client.count('rows', found, [0.5, 0.6], { secretKey: file });
const maps: IntegerMaps = JSON.parse('{}');
const integers = new Integers(await Hemera.load('hemera_client.wasm'), maps, { secretKey: file });
const sizes: number[] = (await integers.decrypt(await integers.encrypt(BigUint64Array.of(1n), { levels: 0 }))).shape;
await (await InWorker.connect('http://127.0.0.1:8000', 'token', 'hemera_client.wasm')).close();
export { counts, file, several, sizes, status };

// @ts-expect-error: a model has a name
await client.predict(3, []);
// @ts-expect-error: numbers, not texts
await client.predict('scores', ['1']);
// @ts-expect-error: a threshold is a number
await client.search('rows', [1, 2], { threshold: [0.5] });
// @ts-expect-error: integers, not reals
await integers.encrypt(new Float64Array(2));
// @ts-expect-error: no such key
secret.generateKeys([{ kind: 'bootstrap' }]);
// @ts-expect-error: connect makes clients
new Client();
