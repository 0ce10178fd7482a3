// Encrypted integers (docs/integers.md): models of a server that compute with them, and files as hm.integers reads and
// writes them, which a page encrypts, a program of Python computes on, and the page decrypts.
//
//   const integers = new Integers(await Hemera.load('hemera_client.wasm'), maps);   // hm.integers.Context(bits=32).maps
//   const file = await integers.encrypt(Uint32Array.of(7, 5), { levels: maps.product_levels });
//   const { values } = await integers.decrypt(answer);                             // a Uint32Array

import { framed, unframed } from './messages.mjs';
import { Served, bytesOf, flattened, refuse } from './served.mjs';

const magic = '\x89HEMINTS\r\n\x1a\n\0\0\0\0';
const what = 'file of encrypted integers';
const types = { uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array, uint32: Uint32Array,
  int32: Int32Array, uint64: BigUint64Array, int64: BigInt64Array };
const product = (shape) => shape.reduce((a, b) => a * b, 1);

/** The digits of arrays in the slots of ciphertexts, for integers of so many bits. */
class Digits {
  constructor({ bits, slots }) {
    this.slots = slots;
    this.digits = bits / 4; // of 4 bits, the lowest first: digit i of value j of a vector is in slot i count + j
    this.count = slots / this.digits;
  }

  /** The ciphertexts of so many values. */
  vectors(size) {
    return Math.max(1, Math.ceil(size / this.count));
  }

  /** The slots of a typed array, or of an array of booleans. */
  of(values) {
    const truths = Array.isArray(values);
    const plain = new Float64Array(this.vectors(values.length) * this.slots);
    const width = truths ? 1 : values.BYTES_PER_ELEMENT;
    const bytes = truths ? Uint8Array.from(values) : new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    for (let j = 0; j < values.length; j += 1) {
      const place = Math.floor(j / this.count) * this.slots + (j % this.count);
      if (truths) for (let i = 0; i < this.digits; i += 1) plain[place + i * this.count] = bytes[j];
      else for (let i = 0; i < 2 * width; i += 1) plain[place + i * this.count] = (bytes[j * width + (i >> 1)] >> (4 * (i & 1))) & 15;
    }
    return plain;
  }

  /** The array of decrypted slots. FormatError for another number of slots, NoiseError where there are no digits. */
  read(slots, dtype, shape) {
    const truths = dtype === 'bool';
    const size = product(shape);
    if (slots.length !== this.vectors(size) * this.slots) refuse('FormatError', `values of shape (${shape}) are not in ${slots.length} slots`);
    const digits = slots.map(Math.round); // nothing of the noise leaves
    if (!digits.every((each) => each >= 0 && each <= (truths ? 1 : 15))) {
      refuse('NoiseError', 'there are no digits; the values were made with other keys, or damaged');
    }
    const values = truths ? new Uint8Array(size) : new types[dtype](size);
    const bytes = new Uint8Array(values.buffer);
    const width = values.BYTES_PER_ELEMENT;
    for (let j = 0; j < size; j += 1) {
      const place = Math.floor(j / this.count) * this.slots + (j % this.count);
      for (let i = 0; i < (truths ? 1 : 2 * width); i += 1) bytes[j * width + (i >> 1)] |= digits[place + i * this.count] << (4 * (i & 1));
    }
    return truths ? Array.from(values, Boolean) : values;
  }
}

/** Numbers as a typed array of NumPy's type, or as booleans. RangeError for those that it does not hold. */
function typed(values, dtype, name) {
  const Type = types[dtype];
  if (Type && values instanceof Type) return values;
  const flat = flattened(values);
  if (dtype === 'bool' && flat.every((each) => Number(each) === 0 || Number(each) === 1)) return flat.map(Boolean);
  if (dtype === 'bool') refuse('RangeError', `${name}: values are true or false, or 1 or 0`);
  const found = Type.from(flat, Type.BYTES_PER_ELEMENT === 8 ? BigInt : Number);
  const other = flat.find((each, i) => Number(each) !== Number(found[i]));
  if (other !== undefined) refuse('RangeError', `${name}: values are ${dtype}, and ${other} is none`);
  return found;
}

/** The client's side of a model that computes with encrypted integers: as Model of served.mjs. */
export class IntegerModel extends Served {
  constructor(hemera, name, path, maps, security, kept) {
    super(hemera, name, path, maps, security, kept);
    this.route = 'evaluate';
    this.answers = [maps.outputs[0].name];
    this.digits = new Digits(maps.integers);
  }

  given(_, values) {
    return values;
  }

  count() {
    return null;
  }

  encrypt(arrays) {
    return Object.fromEntries(this.maps.inputs.map(({ name, dtype, shape, level }) => {
      const values = typed(arrays[name], dtype, name);
      if (values.length !== product(shape)) refuse('MismatchError', `${name}: an array of shape (${shape}) is needed, not one of ${values.length} numbers`);
      return [name, this.secret.encrypt(this.digits.of(values), { rows: this.digits.vectors(values.length), level })];
    }));
  }

  decrypt(files) {
    const [{ name, dtype, shape }] = this.maps.outputs;
    return { shape, values: this.digits.read(this.secret.decrypt(files[name]), dtype, shape) };
  }

  read([found]) {
    return { results: { [this.answers[0]]: found }, warnings: [] };
  }
}

/** The side of one secret key. */
export class Integers {
  /** `maps`: those of a context in Python, as JSON has them. `secretKey`: its file; none: a fresh key. SecurityError for
   * parameters of less than `security` bits. */
  constructor(hemera, maps, { security = 128, secretKey } = {}) {
    this.maps = maps;
    this.context = hemera.openContext(bytesOf(maps.parameters), security);
    this.secret = secretKey ? this.context.loadSecretKey(secretKey) : this.context.generateSecretKey();
    this.digits = new Digits(maps);
  }

  /** The file of a typed array, or of an array of booleans. `shape`: of the array, one axis if it is left out. `levels`:
   * what values have left; none: all. Types are those of NumPy; MismatchError for one above the context's bits. */
  async encrypt(values, { shape = [values.length], levels = this.maps.levels } = {}) {
    const { bits, level, levels: most, error } = this.maps;
    const truths = Array.isArray(values) && values.every((each) => typeof each === 'boolean');
    const dtype = truths ? 'bool' : Object.keys(types).find((each) => values instanceof types[each]);
    if (dtype === undefined) refuse('ParameterError', `values are a typed array of ${Object.keys(types).join(', ')}, or an array of booleans`);
    const width = truths ? 1 : values.BYTES_PER_ELEMENT;
    if (8 * width > bits) refuse('MismatchError', `these integers have ${bits} bits, not ${dtype}; make a context with more`);
    if (!(Number.isInteger(levels) && levels >= 0 && levels <= most)) refuse('LevelError', `values have from 0 to ${most} levels, not ${levels}`);
    if (product(shape) !== values.length) refuse('MismatchError', `${values.length} values have no shape (${shape})`);
    const ciphertext = this.secret.encrypt(this.digits.of(values), { rows: this.digits.vectors(values.length), level: level + levels });
    return framed(magic, { version: 1, bits, dtype, shape, error, failure_log2: null }, ciphertext);
  }

  /** { values, shape } of a file: a typed array, or an array of booleans. FormatError for damage, MismatchError for values
   * of other bits, NoiseError where there are no digits: they were made with other keys. */
  async decrypt(file) {
    const { header: { bits, dtype, shape, version }, body } = await unframed(magic, what, file, (before) => before);
    const truths = dtype === 'bool';
    if (version !== 1 || !(truths || dtype in types) || !Array.isArray(shape) || !shape.every((each) => Number.isSafeInteger(each) && each >= 0)) {
      refuse('FormatError', `a ${what} of version ${version}, type ${dtype} and shape (${shape}): take a newer client`);
    }
    if (bits !== this.maps.bits) refuse('MismatchError', `the values are of a context of ${bits} bits, and this one has ${this.maps.bits}`);
    return { values: this.digits.read(this.secret.decrypt(body), dtype, shape), shape };
  }

  /** Zeroes the secret key. */
  free() {
    this.secret.free();
    this.context.free();
  }
}
