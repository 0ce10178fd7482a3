// What a client has of one model or index of a server: its description, a context and a secret key; and models.

import { HemeraError } from './hemera-client.mjs';

export function refuse(name, text) {
  const error = new HemeraError(1, text);
  error.name = name;
  throw error;
}

const partBytes = 2 ** 24;

export const bytesOf = (base64) => Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
export const words = (base64) => new Int32Array(bytesOf(base64).buffer);
export const hex = (bytes) => Array.from(new Uint8Array(bytes), (each) => each.toString(16).padStart(2, '0')).join('');
const product = (shape) => shape.reduce((a, b) => a * b, 1);
const isList = (array) => Array.isArray(array) || ArrayBuffer.isView(array);

/** The numbers of nested arrays, or typed ones. TypeError for others: null and '' would be 0. */
export function flattened(array) {
  const flat = [array].flat(Infinity).flatMap((each) => (ArrayBuffer.isView(each) ? Array.from(each) : [each]));
  const other = flat.findIndex((each) => !['number', 'bigint', 'boolean'].includes(typeof each));
  if (other >= 0) refuse('TypeError', `values are numbers, and ${JSON.stringify(flat[other])} is none`);
  return flat;
}

/** The extents of nested arrays, by their first entries. */
const extents = (array) => (isList(array) ? [array.length, ...extents(array[0])] : []);
const isOf = (array, [length, ...rest]) => isList(array) && array.length === length && (rest.length === 0 || Array.from(array).every((each) => isOf(each, rest)));

/** A model or an index: what the server tells of it, a context, and the secret key. */
export class Served {
  /** `path`: of its requests. `kept`: { secret, digest } of an earlier visit, or nothing. */
  constructor(hemera, name, path, maps, security, kept) {
    this.name = name;
    this.path = path;
    this.maps = maps;
    this.context = hemera.openContext(bytesOf(maps.parameters), security);
    this.secret = kept ? this.context.loadSecretKey(kept.secret) : this.context.generateSecretKey();
    this.digest = kept?.digest ?? null; // of the keys that the server has
  }

  /** The file of evaluation keys, as a Blob, which a browser has on its disk. `progress(bytes)`: those that are made. */
  keys(progress) {
    const parts = [];
    let [made, pieces, held] = [0, [], 0];
    const keep = () => {
      parts.push(new Blob(pieces));
      [pieces, held] = [[], 0];
    };
    this.secret.writeKeys(bytesOf(this.maps.keys), (piece) => {
      pieces.push(piece);
      held += piece.length;
      made += piece.length;
      if (held > partBytes) keep();
      progress(made);
    });
    keep();
    return new Blob(parts);
  }

  /** Zeroes the secret key. */
  free() {
    this.secret.free();
    this.context.free();
  }
}

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
  truth: (row) => row.map((x) => x > 0.5),
  integer: (row) => row.map((x) => Math.round(x) + 0), // never -0
};

/** The client's side of one model. */
export class Model extends Served {
  static kinds = 'models';

  constructor(hemera, name, path, maps, security, kept) {
    const unknown = maps.outputs.find(({ read }) => !(read in readings));
    if (unknown) refuse('ParameterError', `results are read as ${unknown.read}, which this client does not know: use hm.Client`);
    super(hemera, name, path, maps, security, kept);
    this.route = 'evaluate';
    [{ ciphertexts: this.answers }] = maps.outputs; // one file without a name is the first
    // Read once, not by each request.
    this.slots = new Map(maps.inputs.flatMap(({ ciphertexts }) => ciphertexts.map((each) => [each.name, words(each.slots)])));
    this.places = new Map(maps.outputs.map((output) => [output.name, words(output.places)]));
    this.whole = this.context.describe().scheme !== 'ckks';
  }

  /** An array of an input, flat, as it may be given. MismatchError for nested arrays of another shape. */
  given({ name, shape }, array) {
    const flat = flattened(array);
    const found = extents(array);
    const own = found.slice(Math.max(0, found.length - shape.length));
    if (found.length > 1 && !(isOf(array, found) && product(found) === flat.length && String(own) === String(shape))) {
      refuse('MismatchError', `${name}: an array of shape (${shape}) is needed for each sample, not one of (${found})`);
    }
    return flat;
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
      if (input.step !== null && Math.abs(x / input.step - Math.round(x / input.step)) > 1e-9) {
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
        if (this.whole && !Number.isSafeInteger(y)) refuse('RangeError', `${output.name}: ${y} is beyond 2^53, to which numbers of JavaScript are exact`);
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
