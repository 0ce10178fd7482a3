// The worker of worker-client.mjs.
import { Client } from './client.mjs';

const running = new Map();
let client;

async function answer(number, name, given) {
  if (name === 'connect') client = await Client.connect(...given);
  else if (name === 'close') client.close();
  else if (['models', 'indexes', 'inputs'].includes(name)) return client[name](...given);
  else {
    const stop = new AbortController();
    running.set(number, stop);
    const progress = (...told) => globalThis.postMessage({ number, progress: told });
    const options = given.pop();
    return client[name](...given, { ...options, signal: stop.signal, progress }).finally(() => running.delete(number));
  }
  return undefined;
}

globalThis.onmessage = ({ data: { number, name, given } }) => {
  if (name === 'abort') {
    running.get(number)?.abort();
    return;
  }
  answer(number, name, given).then(
    (found) => globalThis.postMessage({ number, found }),
    ({ name: kind, message, status, code }) => globalThis.postMessage({ number, failed: { name: kind, message, status, code } }),
  );
};
