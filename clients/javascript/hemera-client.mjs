// The client half of Hemera in a browser or in Node: parameters, keys, encryption, decryption and files, over
// hemera_client.wasm (tools/build-wasm). It is the C interface (include/hemera/c/hemera.h) with JavaScript's types.
//
//   const hemera = await Hemera.load(bytesOrUrl);
//   const context = hemera.openContext(parametersFile);
//   const secret = context.generateSecretKey();
//   const keys = secret.generateKeys([{ kind: 'rotation', steps: 1 }, { kind: 'relinearization' }]);
//   const x = secret.encrypt(Float64Array.of(1, 2, 3));
//   const values = secret.decrypt(answerFile);
//
// The secret key stays in the module's memory, is zeroed by `free`, and leaves it by `save` alone. Calls take
// milliseconds to seconds: run them in a Web Worker.

const names = [null, 'ParameterError', 'SecurityError', 'MismatchError', 'MissingKeyError', 'LevelError', 'ScaleError',
  'RangeError', 'NoiseError', 'FormatError', 'FileError', 'OutOfMemoryError', 'DeviceError', 'NullError', 'CallerError',
  'InternalError'];
const schemes = [null, 'bfv', 'bgv', 'ckks'];
const kinds = { public: 0, relinearization: 1, rotation: 2, conjugation: 3, automorphism: 4 };
const highestLevel = 0xffffffff;
const mostBytesAtOnce = 65536; // of crypto.getRandomValues
// (module (import "" "f" (func (param i32 i32 i32) (result i32))) (export "f" (func 0))): a function of JavaScript as one of
// WebAssembly, which has an address.
const wrapper = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 8, 1, 96, 3, 127, 127, 127, 1, 127, 2, 6, 1, 0, 1, 102, 0, 0, 7, 5, 1, 1, 102, 0, 0);

/** An error of the library; `name` is that of the class in Python and C++. */
export class HemeraError extends Error {
  constructor(status, text) {
    super(text);
    this.name = names[status] ?? 'InternalError';
  }
}

/** A loaded module. */
export class Hemera {
  #exports;
  #taker = 0; // the address of a function that takes bytes, which calls
  #take;

  /** `source`: the bytes of hemera_client.wasm, a WebAssembly.Module, or an address that fetch takes. */
  static async load(source) {
    let module = source;
    if (source instanceof Uint8Array || source instanceof ArrayBuffer) module = await WebAssembly.compile(source);
    else if (!(source instanceof WebAssembly.Module)) module = await WebAssembly.compileStreaming(fetch(source));
    const hemera = new Hemera();
    const instance = await WebAssembly.instantiate(module, hemera.#imports());
    hemera.#exports = instance.exports;
    hemera.#exports._initialize?.();
    return hemera;
  }

  #imports() {
    const view = () => new DataView(this.#exports.memory.buffer);
    const unsupported = 52; // WASI's errno of a function that is not there
    return {
      hemera: {
        entropy: (address, count) => {
          const out = new Uint8Array(this.#exports.memory.buffer, address, count);
          for (let i = 0; i < count; i += mostBytesAtOnce) {
            globalThis.crypto.getRandomValues(out.subarray(i, i + mostBytesAtOnce));
          }
          return 0;
        },
      },
      env: { emscripten_notify_memory_growth: () => {} },
      wasi_snapshot_preview1: {
        clock_time_get: (clock, precision, out) => {
          view().setBigUint64(out, BigInt(Math.round(performance.now() * 1e6)), true);
          return 0;
        },
        environ_get: () => 0,
        environ_sizes_get: (count, bytes) => {
          view().setUint32(count, 0, true);
          view().setUint32(bytes, 0, true);
          return 0;
        },
        fd_close: () => unsupported,
        fd_read: () => unsupported,
        fd_seek: () => unsupported,
        fd_write: () => unsupported,
        proc_exit: (code) => {
          throw new HemeraError(15, `the module ended with code ${code}`);
        },
      },
    };
  }

  /** The functions of the C interface. For the classes of this file. */
  get functions() {
    return this.#exports;
  }

  /** The library's version. */
  get version() {
    return this.text(this.#exports.hemera_version());
  }

  text(address) {
    const memory = new Uint8Array(this.#exports.memory.buffer);
    return new TextDecoder().decode(memory.slice(address, memory.indexOf(0, address)));
  }

  /** Runs `body` with the address of a copy of an array's bytes, which is zeroed and freed after it. */
  withBytes(array, body) {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    const address = this.#exports.malloc(Math.max(1, bytes.length));
    if (address === 0) throw new HemeraError(11, `the page has no memory for ${bytes.length} bytes`);
    try {
      new Uint8Array(this.#exports.memory.buffer).set(bytes, address);
      return body(address);
    } finally {
      new Uint8Array(this.#exports.memory.buffer, address, bytes.length).fill(0);
      this.#exports.free(address);
    }
  }

  /** Calls a function whose last argument is `words` words of output, and returns them. */
  call(name, words, ...args) {
    return this.withBytes(new Uint32Array(words), (out) => {
      const status = this.#exports[name](...args, ...(words > 0 ? [out] : []));
      if (status !== 0) throw new HemeraError(status, this.text(this.#exports.hemera_error()));
      return new Uint32Array(this.#exports.memory.buffer, out, words).slice();
    });
  }

  /** Calls a function that gives out a buffer, and returns its bytes. */
  take(name, ...args) {
    return this.withBytes(new Uint32Array(2), (out) => {
      const status = this.#exports[name](...args, out);
      if (status !== 0) throw new HemeraError(status, this.text(this.#exports.hemera_error()));
      const [data, bytes] = new Uint32Array(this.#exports.memory.buffer, out, 2);
      const copy = new Uint8Array(this.#exports.memory.buffer, data, bytes).slice();
      this.#exports.hemera_buffer_free(out);
      return copy;
    });
  }

  /** Gives the pieces of a file, which a function of the module gives to its last argument but one, to `write`. */
  pieces(name, write, ...args) {
    if (this.#taker === 0) {
      const f = (_, data, bytes) => this.#take(data, bytes);
      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(wrapper), { '': { f } });
      this.#taker = this.#exports.__indirect_function_table.grow(1);
      this.#exports.__indirect_function_table.set(this.#taker, exports.f);
    }
    let failed;
    this.#take = (data, bytes) => {
      try {
        write(new Uint8Array(this.#exports.memory.buffer, data, bytes).slice());
      } catch (error) {
        failed = error; // there is no memory for it, or the caller stops
      }
      return failed ? 1 : 0;
    };
    try {
      this.call(name, 0, ...args, this.#taker, 0);
    } catch (error) {
      throw failed ?? error;
    }
  }

  /** XXH3-64 of each 64 KiB. */
  checksums(bytes) {
    return this.withBytes(bytes, (at) => this.take('hemera_checksums', at, bytes.length));
  }

  /** A context from a file of parameters. Throws SecurityError for less than `security` bits (0: any). */
  openContext(file, security = 128) {
    return new Context(this, this.withBytes(file, (at) => this.call('hemera_context_open', 1, at, file.length, security, 1)[0]));
  }
}

/** Parameters and their tables. */
export class Context {
  constructor(hemera, handle) {
    this.hemera = hemera;
    this.handle = handle;
  }

  /** { scheme, security, degree, slots, levels, plainModulus } */
  describe() {
    const bytes = 40;
    return this.hemera.withBytes(new Uint8Array(bytes), (at) => {
      this.hemera.call('hemera_context_describe', 0, this.handle, at, bytes);
      const view = new DataView(this.hemera.functions.memory.buffer, at, bytes);
      const word = (i) => Number(view.getBigUint64(i, true));
      return { scheme: schemes[view.getInt32(0, true)], security: view.getInt32(4, true), degree: word(8),
        slots: word(16), levels: word(24), plainModulus: word(32) };
    });
  }

  generateSecretKey() {
    return new SecretKey(this, this.hemera.call('hemera_secret_key_generate', 1, this.handle)[0]);
  }

  loadSecretKey(file) {
    return new SecretKey(this, this.hemera.withBytes(file, (at) =>
      this.hemera.call('hemera_secret_key_load', 1, this.handle, at, file.length)[0]));
  }

  free() {
    this.hemera.functions.hemera_context_free(this.handle);
    this.handle = 0;
  }
}

/** The secret; in the module's memory. */
export class SecretKey {
  constructor(context, handle) {
    this.context = context;
    this.hemera = context.hemera;
    this.handle = handle;
  }

  /** A file of the secret. Keep it from others. */
  save() {
    return this.hemera.take('hemera_secret_key_save', this.handle);
  }

  /** Gives the pieces of a file of keys to `write`, of which one key is in the module's memory at a time. `needs`: the
   * file of a server's list, or [{ kind: 'public' | 'relinearization' | 'rotation' | 'conjugation' | 'automorphism', steps,
   * level }]; without a level, the highest. An automorphism's steps are its Galois element. What `write` throws stops the
   * work. Throws SecurityError, before any is made, for keys of less security than the context was opened with. */
  writeKeys(needs, write) {
    if (needs instanceof Uint8Array) {
      this.hemera.withBytes(needs, (at) => this.hemera.pieces('hemera_needed_keys_generate', write, this.handle, at, needs.length));
      return;
    }
    const words = new Uint32Array(needs.flatMap(({ kind, steps = 0, level = highestLevel }) => {
      if (!(kind in kinds)) throw new HemeraError(1, `a key of kind ${kind}; there are ${Object.keys(kinds).join(', ')}`);
      return [kinds[kind], steps, level];
    }));
    this.hemera.withBytes(words, (at) => this.hemera.pieces('hemera_keys_generate', write, this.handle, at, needs.length));
  }

  /** The whole file. */
  generateKeys(needs) {
    const pieces = [];
    this.writeKeys(needs, (piece) => pieces.push(piece));
    const whole = new Uint8Array(pieces.reduce((all, each) => all + each.length, 0));
    pieces.reduce((at, each) => {
      whole.set(each, at);
      return at + each.length;
    }, 0);
    return whole;
  }

  /** Numbers as the file of a ciphertext: Float64Array for CKKS, BigInt64Array for BFV and BGV; [rows, count], row-major,
   * or one row without a batch for rows = 0. */
  encrypt(values, { rows = 0, level = highestLevel } = {}) {
    const name = values instanceof BigInt64Array ? 'hemera_encrypt_integers' : 'hemera_encrypt_doubles';
    if (!(values instanceof BigInt64Array || values instanceof Float64Array)) {
      throw new HemeraError(1, 'numbers come as a Float64Array or a BigInt64Array');
    }
    if (rows > 0 && values.length % rows !== 0) {
      throw new HemeraError(1, `${values.length} numbers do not fill ${rows} rows`);
    }
    const count = rows > 0 ? values.length / rows : values.length;
    const handle = this.hemera.withBytes(values, (at) => this.hemera.call(name, 1, this.handle, 0, at, rows, count, level)[0]);
    try {
      return this.hemera.take('hemera_ciphertext_save', handle);
    } finally {
      this.hemera.functions.hemera_ciphertext_free(handle);
    }
  }

  /** The numbers of a ciphertext's file, [rows, slots]: a Float64Array for CKKS, else a BigInt64Array. */
  decrypt(file) {
    const handle = this.hemera.withBytes(file, (at) =>
      this.hemera.call('hemera_ciphertext_load', 1, this.context.handle, at, file.length)[0]);
    try {
      const whole = this.context.describe().scheme !== 'ckks';
      const bytes = this.hemera.take(whole ? 'hemera_decrypt_integers' : 'hemera_decrypt_doubles', this.handle, handle);
      return whole ? new BigInt64Array(bytes.buffer) : new Float64Array(bytes.buffer);
    } finally {
      this.hemera.functions.hemera_ciphertext_free(handle);
    }
  }

  /** The body of the message of a search's queries: BigInt64Array, [queries, dims], times 2^shift. */
  encryptQueries(values, dims, shift) {
    return this.hemera.withBytes(values, (at) => this.hemera.take('hemera_search_encrypt', this.handle, at, values.length / dims, dims, shift));
  }

  /** The integers of an answer to so many queries, [queries, rows]: BigInt64Array. */
  decryptScores(halves, queries, droppedBits, width) {
    return new BigInt64Array(this.hemera.withBytes(halves, (at) =>
      this.hemera.take('hemera_search_decrypt', this.handle, at, halves.length, queries, droppedBits, width)).buffer);
  }

  /** Zeroes the secret. */
  free() {
    this.hemera.functions.hemera_secret_key_free(this.handle);
    this.handle = 0;
  }
}
