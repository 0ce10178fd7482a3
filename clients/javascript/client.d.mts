// Types of client.mjs.
import { Words } from './integers.mjs';

export type Numbers = ArrayLike<number | bigint | boolean> | Numbers[];
/** `values`: of encrypted integers a typed array, or booleans. */
export type Result = { shape: number[]; values: (number | string | boolean | null)[] | Words };
export type Prediction = { results: { [output: string]: Result }; warnings: string[] };
export type Input = { name: string; shape: number[]; low: number | null; high: number | null; step: number | null; dtype: string | null };
export type Index = { name: string; kind: string; rows: number; dims: number; metric: 'cosine' | 'dot' | 'l2' };
/** Of scores `scores`, of comparisons the others. */
export type Found = { ids: number[]; scores?: number[]; doubtful?: number[]; payloads?: number[][] | null };
export type Progress = (what: 'keys' | 'upload' | 'predict' | 'search' | 'request' | 'answer', done: number, all: number) => void;

export type Asked = { secretKey?: Uint8Array; signal?: AbortSignal; progress?: Progress };
export type Search = Asked & { k?: number | null; threshold?: number; payloads?: boolean };

export class ServerError extends Error {
  constructor(status: number, code: string, text: string);
  readonly status: number;
  readonly code: string;
}

export class Client {
  private constructor();
  static connect(
    url: string, token: string, module: Uint8Array | ArrayBuffer | WebAssembly.Module | string | URL,
    options?: { security?: 0 | 128 | 192 | 256; keep?: string },
  ): Promise<Client>;
  models(): Promise<{ name: string; description: string; digest: string | null }[]>;
  inputs(model: string): Promise<Input[]>;
  predict(
    model: string, arrays: Numbers | { [input: string]: Numbers }, options?: { signal?: AbortSignal; progress?: Progress },
  ): Promise<Prediction>;
  indexes(): Promise<Index[]>;
  search(index: string, x: ArrayLike<number>, options?: Search): Promise<Found>;
  search(index: string, x: ArrayLike<number>[], options?: Search): Promise<Found[]>;
  count(index: string, x: ArrayLike<number>, threshold: number, options?: Asked): Promise<number>;
  count(index: string, x: ArrayLike<number>, thresholds: ArrayLike<number>, options?: Asked): Promise<number[]>;
  close(): void | Promise<void>;
}
