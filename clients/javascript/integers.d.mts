// Types of integers.mjs.
import { Hemera, SecretKey } from './hemera-client.mjs';

export type Words = Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array | BigUint64Array | BigInt64Array;
export type IntegerMaps = {
  parameters: string; bits: 8 | 16 | 32 | 64; slots: number; level: number; levels: number; product_levels: number; error: number;
};

export class Integers {
  constructor(hemera: Hemera, maps: IntegerMaps, options?: { security?: 0 | 128 | 192 | 256; secretKey?: Uint8Array });
  readonly secret: SecretKey;
  encrypt(values: Words | boolean[], options?: { shape?: number[]; levels?: number }): Promise<Uint8Array>;
  decrypt(file: Uint8Array): Promise<{ values: Words | boolean[]; shape: number[] }>;
  free(): void;
}
