// A client of `hemera serve` in a browser or in Node: keys stay here, ciphertexts travel.
//
//   const client = await Client.connect('https://he.example.org', token, 'hemera_client.wasm');
//   const { results, warnings } = await client.predict('scores', { x: rows });
//   console.log(results.output.values);
//
// The first `predict` of a model makes the secret key, which stays in the module's memory, and sends evaluation keys,
// once. A page of another origin asks where the server names it (hemera serve --origin).

import { Hemera, HemeraError } from './hemera-client.mjs';
import { Kept } from './kept.mjs';

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

function refuse(name, text) {
  const error = new HemeraError(1, text);
  error.name = name;
  throw error;
}

const bytesOf = (base64) => Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
const words = (base64) => new Int32Array(bytesOf(base64).buffer);
const hex = (bytes) => Array.from(new Uint8Array(bytes), (each) => each.toString(16).padStart(2, '0')).join('');
const product = (shape) => shape.reduce((a, b) => a * b, 1);

// A client's readings of values along their last axis, by the names of the server's models.
const softmax = (row) => {
  const most = Math.max(...row);
  const powers = row.map((each) => Math.exp(each - most));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map((each) => each / total);
};
const sigmoid = (x) => (x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x)));
const readings = {
  values: (row) => row,
  sigmoid: (row) => row.map(sigmoid),
  sign: (row) => row.map((each) => (each > 0 ? 1 : 0)),
  softmax,
  argmax: (row) => [row.indexOf(Math.max(...row))],
  exp: (row) => row.map(Math.exp),
  'one-against-rest': (row) => {
    const each = row.map(sigmoid);
    const total = each.reduce((a, b) => a + b, 0);
    return each.map((x) => (total > 0 ? x / total : 1 / row.length));
  },
  clipped: (row) => row.map((x) => (Math.min(1, Math.max(-1, x)) + 1) / 2),
};

/** The client's side of one model: what the server tells of it, its context, and the secret key. */
class Model {
  /** `kept`: { secret, digest } of an earlier visit, or nothing. */
  constructor(hemera, name, maps, security, kept) {
    this.name = name;
    this.maps = maps;
    // Read once, not by each request.
    this.slots = new Map(maps.inputs.flatMap(({ ciphertexts }) => ciphertexts.map((each) => [each.name, words(each.slots)])));
    this.places = new Map(maps.outputs.map((output) => [output.name, words(output.places)]));
    const unknown = maps.outputs.find(({ read }) => !(read in readings));
    if (unknown) refuse('ParameterError', `results are read as ${unknown.read}, which this client does not know: use hm.Client`);
    this.context = hemera.openContext(bytesOf(maps.parameters), security);
    this.whole = this.context.describe().scheme !== 'ckks';
    this.secret = kept ? this.context.loadSecretKey(kept.secret) : this.context.generateSecretKey();
    this.digest = kept?.digest ?? null; // of the keys that the server has
  }

  keys() {
    return this.secret.generateKeys(this.maps.keys.map(([kind, steps, level]) => ({ kind, steps, level })));
  }

  /** The rows of the arrays; null where an array is one sample. */
  count(arrays) {
    if (this.maps.rows === null) return null;
    const counts = this.maps.inputs.map((input) => arrays[input.name].length / product(input.shape));
    if (!counts.every((each) => Number.isInteger(each) && each > 0 && each === counts[0])) {
      refuse('MismatchError', `${this.name} takes rows of shape ${this.maps.inputs.map(({ shape }) => `(${shape})`)}, as many of each input`);
    }
    return counts[0];
  }

  /** The encrypted values of one request, by input: rows from `begin`, the last one again where they end. */
  values(input, given, begin, count) {
    const size = product(input.shape);
    const rows = this.maps.rows ?? 1;
    if (count === null && given.length !== size) {
      refuse('MismatchError', `${input.name}: an array of shape (${input.shape}) is needed, not one of ${given.length} numbers`);
    }
    const found = new Float64Array(rows * size);
    const low = input.low ?? -Infinity;
    const high = input.high ?? Infinity;
    const last = count === null ? 0 : count - 1;
    for (let i = 0; i < found.length; i += 1) {
      let x = Number(given[Math.min(begin + Math.floor(i / size), last) * size + (i % size)]);
      if (Number.isFinite(x) && input.clips) {
        const step = input.step ?? 0;
        x = Math.min(step ? Math.floor(high / step) * step : high, Math.max(step ? Math.ceil(low / step) * step : low, x));
      }
      if (!(Number.isFinite(x) && x >= low && x <= high)) {
        refuse('ParameterError', `${input.name}: the model is for values from ${low} to ${high}, not ${x}`);
      }
      if (input.step !== null && !input.clips && Math.abs(x / input.step - Math.round(x / input.step)) > 1e-9) {
        refuse('ParameterError', `${input.name}: the model is for multiples of ${input.step}, and ${x} is none`);
      }
      const column = i % input.factors.length;
      const scaled = (x - input.numbers[column]) / input.factors[column];
      found[i] = input.clip === null ? scaled : Math.min(input.clip, Math.max(-input.clip, scaled));
    }
    return found;
  }

  /** The files of one request, by ciphertext. */
  encrypt(arrays, begin, count) {
    const files = {};
    for (const input of this.maps.inputs) {
      const values = this.values(input, arrays[input.name], begin, count);
      for (const { name, level, batch, count: width } of input.ciphertexts) {
        const map = this.slots.get(name);
        const rows = Math.max(1, batch);
        const period = map.length / rows;
        const filled = this.whole ? new BigInt64Array(rows * width) : new Float64Array(rows * width);
        for (let i = 0; i < filled.length; i += 1) {
          const at = map[Math.floor(i / width) * period + ((i % width) % period)];
          const value = at < 0 ? 0 : values[at];
          filled[i] = this.whole ? BigInt(value) : value;
        }
        files[name] = this.secret.encrypt(filled, level === null ? { rows: batch } : { rows: batch, level });
      }
    }
    return files;
  }

  /** The values of each output, [rows or one sample][elements], of the files of one answer. */
  decrypt(files) {
    const found = {};
    for (const output of this.maps.outputs) {
      const parts = output.ciphertexts.map((name) => this.secret.decrypt(files[name]));
      // Every entry of a batch fills as many slots, whose first ones have the layout's period.
      const entries = Math.max(1, output.batch);
      const width = parts[0].length / entries;
      found[output.name] = Float64Array.from(this.places.get(output.name), (place) => {
        const entry = Math.floor(place / output.width);
        const y = Number(parts[Math.floor(entry / entries)][(entry % entries) * width + (place % output.width)]);
        return y * output.factors[0] + output.numbers[0];
      });
    }
    return found;
  }

  /** Results and warnings of decrypted values of all requests. */
  read(answers, count) {
    const results = {};
    const warnings = this.maps.unwatched.map((line) => `nothing shows whether values at ${line} stay in the ranges of samples`);
    for (const output of this.maps.outputs) {
      const size = product(output.shape);
      const all = answers.flatMap((each) => Array.from(each[output.name])).slice(0, count === null ? undefined : count * size);
      const low = output.low ?? -Infinity;
      const high = output.high ?? Infinity;
      const slack = Number.isFinite(high - low) ? Math.max(Math.abs(low - output.numbers[0]), Math.abs(high - output.numbers[0])) * 2 ** (output.watched ? -20 : -6) : 0;
      const beyond = all.filter((each) => !(each >= low - slack && each <= high + slack));
      if (beyond.length > 0) {
        const what = output.watched ? `values at ${output.watched}` : `values of ${output.name}`;
        warnings.push(`${what} are outside of ${low} to ${high}, with ${beyond[0]}: results are wrong there, or may be`);
      }
      if (output.watched) continue;
      const last = output.shape.length > 0 ? output.shape.at(-1) : 1;
      const read = [];
      for (let i = 0; i < all.length; i += last) read.push(...readings[output.read](all.slice(i, i + last)));
      const labelled = output.labels !== null && ['sign', 'argmax'].includes(output.read);
      const own = output.read === 'argmax' ? output.shape.slice(0, -1) : output.shape;
      results[output.name] = {
        shape: count === null ? own : [count, ...own],
        values: labelled ? read.map((each) => output.labels[each]) : read,
      };
    }
    return { results, warnings };
  }
}

/** A client of one server; `connect` makes it. */
export class Client {
  #hemera;
  #token;
  #kept;
  #models = new Map();

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

  /** What a model takes: [{ name, shape, low, high, step }], a row of each input. */
  async inputs(name) {
    return (await this.#model(name)).maps.inputs.map(({ name: input, shape, low, high, step }) => ({ name: input, shape, low, high, step }));
  }

  /** The model's results for rows, which only this client can read: { results, warnings }, of each result `shape` and
   * `values`, row-major. `arrays`: by input, numbers in row-major order, nested as they may be; or one array where
   * there is one input. `progress(what, done, all)` is called for "keys", of which some are made, "upload", the bytes of
   * keys, "predict", the rows, and for "request" and "answer" with the bytes of ciphertexts that went and came. */
  async predict(name, arrays, { signal, progress = () => {} } = {}) {
    for (let left = 2; ; left -= 1) {
      try {
        return await this.#predict(await this.#model(name, signal), arrays, signal, progress);
      } catch (error) {
        if (error.code !== 'model_changed' || left === 0) throw error;
        this.#forget(name); // another model has this name now: encrypt for that
      }
    }
  }

  async #predict(model, arrays, signal, progress) {
    const inputs = model.maps.inputs.map((input) => input.name);
    const single = Array.isArray(arrays) || ArrayBuffer.isView(arrays);
    if (single ? inputs.length !== 1 : !inputs.every((each) => each in arrays)) refuse('MismatchError', `the model has the inputs ${inputs.join(', ')}`);
    const flat = Object.fromEntries(inputs.map((each) => [each, flattened(single ? arrays : arrays[each])]));
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

  /** Zeroes the secret keys. */
  close() {
    for (const name of [...this.#models.keys()]) this.#forget(name);
  }

  #forget(name) {
    const { secret, context } = this.#models.get(name);
    secret.free();
    context.free();
    this.#models.delete(name);
  }

  async #model(name, signal) {
    if (!this.#models.has(name)) {
      const maps = await (await this.#request('GET', `/v1/models/${encodeURIComponent(name)}/maps`, { signal })).json();
      const known = await this.#kept?.get(this.#place(name, maps));
      this.#models.set(name, new Model(this.#hemera, name, maps, this.security, known));
    }
    return this.#models.get(name);
  }

  /** The place of a kept secret key: of one model and its parameters on one server. */
  #place(name, maps) {
    return `${this.url} ${name} ${maps.parameters}`;
  }

  async #sendKeys(model, path, signal, progress) {
    progress('keys', 0, model.maps.keys.length);
    const keys = model.keys();
    progress('upload', 0, keys.length);
    await this.#request('PUT', `${path}/keys`, { body: keys, signal, model });
    progress('upload', keys.length, keys.length);
    const prefix = new TextEncoder().encode('4:keys');
    const whole = new Uint8Array(prefix.length + keys.length);
    whole.set(prefix);
    whole.set(keys, prefix.length);
    model.digest = hex(await globalThis.crypto.subtle.digest('SHA-256', whole));
    await this.#kept?.put(this.#place(model.name, model.maps), { secret: model.secret.save(), digest: model.digest });
  }

  async #answer(model, files, signal, progress) {
    const path = `/v1/models/${encodeURIComponent(model.name)}`;
    for (let turn = 0; turn < 3; turn += 1) {
      if (model.digest === null) await this.#sendKeys(model, path, signal, progress);
      try {
        const sent = bytesIn(files);
        progress('request', sent, sent);
        const response = await this.#request('POST', `${path}/evaluate`, { files, signal, model });
        const digest = response.headers.get('hemera-keys');
        if (digest === null || digest === model.digest) {
          const found = await filesOf(response, model);
          progress('answer', bytesIn(found), bytesIn(found));
          return found;
        }
      } catch (error) {
        if (error.code !== 'no_keys') throw error;
      }
      model.digest = null; // the server lost the keys, or has those of another client of this token
    }
    throw new ServerError(409, 'other_keys', `another client replaces this one's keys for ${model.name} again and again: use a token each`);
  }

  async #request(method, path, { body, files, signal, model } = {}) {
    const headers = { Authorization: `Bearer ${this.#token}` };
    if (model && model.maps.digest !== null) headers['Hemera-Model'] = model.maps.digest;
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

function flattened(array) {
  return ArrayBuffer.isView(array) ? Array.from(array) : [array].flat(Infinity);
}

async function filesOf(response, model) {
  const kind = response.headers.get('content-type') ?? '';
  if (!kind.startsWith('multipart/form-data')) {
    const [{ ciphertexts: [name] }] = model.maps.outputs;
    return { [name]: new Uint8Array(await response.arrayBuffer()) };
  }
  const files = {};
  for (const [name, file] of await response.formData()) files[name] = new Uint8Array(await file.arrayBuffer());
  return files;
}
