// The client of client.mjs in a Web Worker, so that a page stays awake while keys are made: the same calls. Secret keys
// stay in the worker; messages have numbers, results and counts.
//
//   const client = await Client.connect('https://he.example.org', token, 'hemera_client.wasm');

/** A client of one server, in a worker of its own; `connect` makes it. */
export class Client {
  #worker;
  #calls = new Map();
  #last = 0;

  /** As `connect` of client.mjs. A relative address of the module is one of the page's. */
  static async connect(url, token, module, options = {}) {
    const client = new Client();
    client.#worker = new Worker(new URL('./worker.mjs', import.meta.url), { type: 'module' });
    client.#worker.onmessage = ({ data }) => client.#take(data);
    const source = typeof module === 'string' ? new URL(module, globalThis.location?.href).href : module;
    await client.#call('connect', [url, token, source instanceof URL ? source.href : source, options]);
    return client;
  }

  models() {
    return this.#call('models', []);
  }

  indexes() {
    return this.#call('indexes', []);
  }

  inputs(name) {
    return this.#call('inputs', [name]);
  }

  predict(name, arrays, options = {}) {
    return this.#asked('predict', [name, arrays], options);
  }

  search(name, x, options = {}) {
    return this.#asked('search', [name, x], options);
  }

  count(name, x, thresholds, options = {}) {
    return this.#asked('count', [name, x, thresholds], options);
  }

  #asked(name, given, { signal, progress, ...options }) {
    return this.#call(name, [...given, options], { signal, progress });
  }

  /** Zeroes the secret keys, and ends the worker. */
  async close() {
    await this.#call('close', []);
    this.#worker.terminate();
  }

  #call(name, given, { signal, progress } = {}) {
    this.#last += 1;
    const number = this.#last;
    return new Promise((resolve, reject) => {
      this.#calls.set(number, { resolve, reject, progress });
      const abort = () => this.#worker.postMessage({ number, name: 'abort' });
      this.#worker.postMessage({ number, name, given });
      if (signal?.aborted) abort();
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  #take({ number, progress, found, failed }) {
    const call = this.#calls.get(number);
    if (progress) {
      call.progress?.(...progress);
      return;
    }
    this.#calls.delete(number);
    if (failed) call.reject(Object.assign(new Error(failed.message), failed));
    else call.resolve(found);
  }
}
