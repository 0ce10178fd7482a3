// Types of hemera-client.mjs.

export type Need = { kind: 'public' | 'relinearization' | 'rotation' | 'conjugation' | 'automorphism'; steps?: number; level?: number };
export type Description = { scheme: 'bfv' | 'bgv' | 'ckks'; security: number; degree: number; slots: number; levels: number; plainModulus: number };

export class HemeraError extends Error {
  constructor(status: number, text: string);
}

export class Hemera {
  static load(source: Uint8Array | ArrayBuffer | WebAssembly.Module | string | URL): Promise<Hemera>;
  readonly version: string;
  checksums(bytes: Uint8Array): Uint8Array;
  openContext(file: Uint8Array, security?: 0 | 128 | 192 | 256): Context;
}

export class Context {
  private constructor();
  describe(): Description;
  generateSecretKey(): SecretKey;
  loadSecretKey(file: Uint8Array): SecretKey;
  free(): void;
}

export class SecretKey {
  private constructor();
  save(): Uint8Array;
  writeKeys(needs: Need[] | Uint8Array, write: (piece: Uint8Array) => void): void;
  generateKeys(needs: Need[] | Uint8Array): Uint8Array;
  encrypt(values: Float64Array | BigInt64Array, options?: { rows?: number; level?: number }): Uint8Array;
  encryptQueries(values: BigInt64Array, dims: number, shift: number): Uint8Array;
  decryptScores(halves: Uint8Array, queries: number, droppedBits: number, width: number): BigInt64Array;
  decrypt(file: Uint8Array): Float64Array | BigInt64Array;
  free(): void;
}
