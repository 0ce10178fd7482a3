// Types of client.mjs.

export type Numbers = ArrayLike<number> | Numbers[];
export type Result = { shape: number[]; values: (number | string | boolean | null)[] };
export type Prediction = { results: { [output: string]: Result }; warnings: string[] };
export type Input = { name: string; shape: number[]; low: number | null; high: number | null; step: number | null };
export type Progress = (what: 'keys' | 'upload' | 'predict' | 'request' | 'answer', done: number, all: number) => void;

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
  close(): void | Promise<void>;
}
