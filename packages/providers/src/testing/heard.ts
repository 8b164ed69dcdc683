import type { UpstreamHandler } from '../transport/upstream.ts';

/** Records everything that a call reports, in order. Its promises let tests wait for events. */
export class Heard implements UpstreamHandler {
  readonly told: string[] = [];
  bytes = 0;
  body = '';
  headers: { readonly contentType: string; readonly retryAfter: string | undefined } | undefined;
  readonly over: Promise<void>;
  readonly responded: Promise<void>;
  onPiece: (() => void) | undefined;
  #over = (): void => {};
  #responded = (): void => {};

  constructor() {
    this.over = new Promise((resolve) => {
      this.#over = resolve;
    });
    this.responded = new Promise((resolve) => {
      this.#responded = resolve;
    });
  }
  onResponse(status: number, headers: { readonly contentType: string; readonly retryAfter: string | undefined }): void {
    this.told.push(`response ${status}`);
    this.headers = headers;
    this.#responded();
  }
  onBytes(bytes: Buffer): void {
    if (this.told.at(-1) !== 'bytes') this.told.push('bytes');
    this.bytes += bytes.length;
    if (this.bytes < 10_000) this.body += bytes.toString('utf8');
    this.onPiece?.();
  }
  onEnd(): void {
    this.told.push('end');
    this.#over();
  }
  onFailure(outcome: string): void {
    this.told.push(outcome);
    this.#over();
  }
}
