// A client of `hemera serve` in a browser or in Node: keys stay here, ciphertexts travel.
//
//   const client = await Client.connect('https://he.example.org', token, 'hemera_client.wasm');
//   const { results, warnings } = await client.predict('scores', { x: rows });
//   console.log(results.output.values);
//   const { ids, scores } = await client.search('documents', query, { k: 10 });
//
// The first request to a model or an index makes the secret key, which stays in the module's memory, and sends evaluation
// keys, once. A page of another origin asks where the server names it (hemera serve --origin).

import { Hemera } from './hemera-client.mjs';
import { Kept } from './kept.mjs';
import { IntegerModel } from './integers.mjs';
import { Index } from './search.mjs';
import { Model, hex, refuse } from './served.mjs';

const mega = 2 ** 20;
const patience = 60_000; // milliseconds of trying again while the server is busy
const names = { parameter: 'ParameterError', security: 'SecurityError', mismatch: 'MismatchError', missing_key: 'MissingKeyError',
  level: 'LevelError', scale: 'ScaleError', range: 'RangeError', noise: 'NoiseError', format: 'FormatError' };

// What a server refused; `code` is its word for it, `status` that of HTTP.
export class ServerError extends Error {
  constructor(status, code, text) {
    super(text);
    this.name = names[code] ?? 'ServerError';
    this.status = status;
    this.code = code;
  }
}

/** A client of one server; `connect` makes it. */
export class Client {
  #hemera;
  #token;
  #kept;
  #served = new Map(); // by path

  /** `module` as of Hemera.load. `security`: bits that a model's parameters must have, 0 for any; the server chose them.
   * `keep`: a name under which secret keys outlive the page, in a browser (kept.mjs); none: each client has new ones. */
  static async connect(url, token, module, { security = 128, keep } = {}) {
    const client = new Client();
    client.url = url.replace(/\/+$/, '');
    client.security = security;
    client.#kept = keep === undefined ? null : await Kept.open(keep);
    client.#token = token;
    client.#hemera = await Hemera.load(module);
    return client;
  }

  /** The server's models: [{ name, description, digest }]. */
  async models() {
    return (await (await this.#request('GET', '/v1/models')).json()).models;
  }

  /** The server's indexes: [{ name, kind, rows, dims, metric }]. */
  async indexes() {
    return (await (await this.#request('GET', '/v1/indexes')).json()).indexes;
  }

  /** What a model takes: [{ name, shape, low, high, step, dtype }], a row of each input; `dtype` of encrypted integers. */
  async inputs(name) {
    return (await this.#found(Model, name)).maps.inputs.map(({ name: input, shape, low = null, high = null, step = null, dtype = null }) => ({ name: input, shape, low, high, step, dtype }));
  }

  /** The model's results for rows, which only this client can read: { results, warnings }, of each result `shape` and
   * `values`, row-major. `arrays`: by input, numbers in row-major order, nested as they may be; or one array where
   * there is one input. `progress(what, done, all)` is called for "keys", the bytes that are made, "upload", the bytes of
   * keys, "predict", the rows, and for "request" and "answer" with the bytes of ciphertexts that went and came. */
  async predict(name, arrays, { signal, progress = () => {} } = {}) {
    for (let left = 2; ; left -= 1) {
      try {
        return await this.#predict(await this.#found(Model, name, signal), arrays, signal, progress);
      } catch (error) {
        if (error.code !== 'model_changed' || left === 0) throw error;
        this.#forget(`/v1/models/${encodeURIComponent(name)}`); // another model has this name now: encrypt for that
      }
    }
  }

  async #predict(model, arrays, signal, progress) {
    const { inputs } = model.maps;
    const names = inputs.map((input) => input.name);
    const single = Array.isArray(arrays) || ArrayBuffer.isView(arrays);
    if (single ? inputs.length !== 1 : !names.every((each) => each in arrays)) refuse('MismatchError', `the model has the inputs ${names.join(', ')}`);
    const flat = Object.fromEntries(inputs.map((each) => [each.name, model.given(each, single ? arrays : arrays[each.name])]));
    const count = model.count(flat);
    const step = model.maps.rows ?? 1;
    // All requests before the first decryption: whether one fails is a bit about the secret key (docs/security.md).
    const answers = [];
    for (let begin = 0; begin < (count ?? 1); begin += step) {
      progress('predict', begin, count ?? 1);
      answers.push(await this.#answer(model, model.encrypt(flat, begin, count), signal, progress));
    }
    progress('predict', count ?? 1, count ?? 1);
    return model.read(answers.map((each) => model.decrypt(each)), count);
  }

  /** The rows of an index for a query, or for each of several: { ids } with `scores`, or with `doubtful` and `payloads`
   * where the index compares scores (docs/search.md). `x`: the index's number of numbers, or a list of such. `k`: the
   * best rows, null for all, in the index's order. `threshold`: of an index with thresholds, the rows beyond it instead.
   * `payloads`: whether to ask for them too. `secretKey`: the file of the secret key, which encrypted rows need, at the
   * first call. `progress` as of predict, with "search" and the requests. */
  async search(name, x, { k = 10, threshold, payloads = false, secretKey, signal, progress = () => {} } = {}) {
    const index = await this.#found(Index, name, signal, secretKey);
    return this.#asked(index, signal, progress, (ask) => index.search(x, { k, threshold, payloads }, ask));
  }

  /** The numbers of rows beyond each threshold: rows within the margin count as numbers from 0 to 1. */
  async count(name, x, thresholds, { secretKey, signal, progress = () => {} } = {}) {
    const index = await this.#found(Index, name, signal, secretKey);
    return this.#asked(index, signal, progress, (ask) => index.count(x, thresholds, ask));
  }

  /** Runs `body` with a function that has messages answered. An index that does not fit is asked for anew next time. */
  async #asked(index, signal, progress, body) {
    try {
      return await body(async (messages) => {
        const answers = [];
        for (const [at, message] of messages.entries()) {
          progress('search', at, messages.length);
          answers.push((await this.#answer(index, { query: message }, signal, progress)).answer);
        }
        progress('search', messages.length, messages.length);
        return answers;
      });
    } catch (error) {
      if (['MismatchError', 'FormatError'].includes(error.name) && error instanceof ServerError) this.#forget(index.path);
      throw error;
    }
  }

  /** Zeroes the secret keys. */
  close() {
    for (const path of [...this.#served.keys()]) this.#forget(path);
  }

  #forget(path) {
    this.#served.get(path)?.free();
    this.#served.delete(path);
  }

  /** A model or an index. `secret`: the file of a secret key; none: one that was kept, or a fresh one. */
  async #found(Kind, name, signal, secret) {
    const path = `/v1/${Kind.kinds}/${encodeURIComponent(name)}`;
    if (!this.#served.has(path)) {
      const maps = await (await this.#request('GET', `${path}/maps`, { signal })).json();
      let known = null;
      if (secret) known = { secret, digest: null };
      else if (!maps.owner) known = await this.#kept?.get(this.#place(path, maps));
      const Made = maps.integers ? IntegerModel : Kind;
      this.#served.set(path, new Made(this.#hemera, name, path, maps, this.security, known));
    }
    return this.#served.get(path);
  }

  /** The place of a kept secret key: of one model or index and its parameters on one server. */
  #place(path, maps) {
    return `${this.url} ${path} ${maps.parameters}`;
  }

  async #sendKeys(served, signal, progress) {
    const { key_bytes: all } = served.maps;
    let told = -mega;
    const tell = (made) => {
      if (made - told < mega) return;
      told = made;
      progress('keys', made, Math.max(made, all));
    };
    tell(0);
    const keys = served.keys(tell);
    progress('upload', 0, keys.size);
    const response = await this.#request('PUT', `${served.path}/keys`, { body: keys, signal, digest: served.maps.digest });
    progress('upload', keys.size, keys.size);
    served.digest = (await response.json()).digest;
    if (!served.maps.owner) await this.#kept?.put(this.#place(served.path, served.maps), { secret: served.secret.save(), digest: served.digest });
  }

  async #answer(served, files, signal, progress) {
    for (let turn = 0; turn < 3; turn += 1) {
      if (served.digest === null) await this.#sendKeys(served, signal, progress);
      try {
        const sent = bytesIn(files);
        progress('request', sent, sent);
        const response = await this.#request('POST', `${served.path}/${served.route}`, { files, signal, digest: served.maps.digest });
        const digest = response.headers.get('hemera-keys');
        if (digest === null || digest === served.digest) {
          const found = await filesOf(response, served.answers);
          progress('answer', bytesIn(found), bytesIn(found));
          return found;
        }
      } catch (error) {
        if (error.code !== 'no_keys') throw error;
      }
      served.digest = null; // the server lost the keys, or has those of another client of this token
    }
    throw new ServerError(409, 'other_keys', `another client replaces this one's keys for ${served.name} again and again: use a token each`);
  }

  async #request(method, path, { body, files, signal, digest = null } = {}) {
    const headers = { Authorization: `Bearer ${this.#token}` };
    if (digest !== null) headers['Hemera-Model'] = digest;
    let sent = body;
    const several = files && Object.keys(files).length > 1;
    if (files && !several) [sent] = Object.values(files);
    if (sent) headers['Content-Type'] = 'application/octet-stream';
    for (let pause = 100, until = Date.now() + patience; ; pause = Math.min(2 * pause, 5000)) {
      if (several) {
        sent = new FormData();
        for (const [name, file] of Object.entries(files)) sent.append(name, new Blob([file]), name);
      }
      const nonce = hex(globalThis.crypto.getRandomValues(new Uint8Array(16)));
      const response = await fetch(this.url + path, { method, body: sent, signal, headers: { ...headers, 'Hemera-Nonce': nonce } });
      const told = response.headers.get('hemera-nonce');
      if (told !== null && told !== nonce) refuse('MismatchError', `${this.url} has given the answer to another request: send it again`);
      if (response.ok) return response;
      const error = await response.json().then((each) => each.error, () => ({ code: 'http', message: `HTTP ${response.status}` }));
      const wait = 1000 * Number(response.headers.get('retry-after') ?? 1) || pause;
      if (![429, 503].includes(response.status) || Date.now() + wait > until) {
        throw new ServerError(response.status, error.code, error.message);
      }
      await new Promise((resolve) => { setTimeout(resolve, Math.max(pause, Math.min(wait, 30_000))); });
    }
  }
}

function bytesIn(files) {
  return Object.values(files).reduce((all, each) => all + each.length, 0);
}

/** The files of an answer by name; one alone is the first of `names`. */
async function filesOf(response, names) {
  const kind = response.headers.get('content-type') ?? '';
  if (!kind.startsWith('multipart/form-data')) return { [names[0]]: new Uint8Array(await response.arrayBuffer()) };
  const files = {};
  for (const [name, file] of await response.formData()) files[name] = new Uint8Array(await file.arrayBuffer());
  return files;
}
