import type { ServerResponse } from 'node:http';

/** Whether the client is still there. One listener a request, one callback at a time. */
export class ClientLink {
  readonly #response: ServerResponse;
  #onLeft: (() => void) | undefined;
  #left = false;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.once('close', () => {
      // `close` also follows a finished answer, which is not leaving.
      if (response.writableFinished) return;
      this.#left = true;
      this.#onLeft?.();
    });
    // What is written to a client that has just left fails here, and that is no event of its own.
    response.on('error', () => {});
    if (response.destroyed && !response.writableFinished) this.#left = true;
  }

  get hasLeft(): boolean {
    return this.#left;
  }

  get response(): ServerResponse {
    return this.#response;
  }

  /** Replaces what happens when the client leaves. */
  onLeft(callback: (() => void) | undefined): void {
    this.#onLeft = callback;
  }
}
