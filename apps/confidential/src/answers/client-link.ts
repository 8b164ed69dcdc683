import type { ServerResponse } from 'node:http';

/** Sees an answer as it leaves, for example to write its receipt. */
export interface AnswerWitness {
  /** Sees a piece. `encoding` applies to strings. */
  see(piece: string | Buffer, encoding: 'latin1' | 'utf8'): void;
  /** Resolves when the end of the answer may leave. */
  complete(status: number): Promise<void>;
}

/** Time in ms to read the last piece before the connection breaks off. Clients that find both at once may drop the piece. */
const readMs = 200;

/** The client of one request: sends to it and tells whether it is still connected. It holds one callback at a time. */
export class ClientLink {
  /** The response itself, for its headers and events. */
  readonly response: ServerResponse;
  #onLeft: (() => void) | undefined;
  #left = false;
  /** Sees everything that is written from here on. */
  witness: AnswerWitness | undefined;

  constructor(response: ServerResponse) {
    this.response = response;
    response.once('close', () => {
      // `close` also follows a finished answer, when the client has not left early.
      if (response.writableFinished) return;
      this.#left = true;
      this.#onLeft?.();
    });
    // Writing to a client that has just left fails here. `close` reports that it left.
    response.on('error', () => {});
    if (response.destroyed && !response.writableFinished) this.#left = true;
  }

  get hasLeft(): boolean {
    return this.#left;
  }

  /** Replaces the callback for when the client leaves. */
  onLeft(callback: (() => void) | undefined): void {
    this.#onLeft = callback;
  }

  /** Writes a piece; a string is `latin1`. Returns false if the client holds the answer back. */
  write(piece: string | Buffer): boolean {
    this.witness?.see(piece, 'latin1');
    return this.response.write(piece, 'latin1');
  }

  /** Ends the answer, after a last piece if there is one. A string is `utf8`. */
  end(piece?: string | Buffer): void {
    const { witness } = this;
    if (witness === undefined) {
      this.response.end(piece);
      return;
    }
    if (piece !== undefined) witness.see(piece, 'utf8');
    void witness.complete(this.response.statusCode).then(() => this.response.end(piece));
  }

  /**
   * Ends an answer that is not whole, after a last piece if its format can express an error; a string is `utf8`. The body lacks its
   * end, so every client notices. Without a piece, and without TLS, the connection is also reset, because HTTP/1.0 takes a closed
   * connection as a proper end.
   */
  breakOff(piece?: string | Buffer): void {
    const { response, witness } = this;
    const { socket } = response;
    if (socket === null) response.destroy();
    else if (piece === undefined) {
      if ('encrypted' in socket) response.destroy();
      else socket.resetAndDestroy();
    } else {
      witness?.see(piece, 'utf8');
      const ready = witness?.complete(response.statusCode) ?? Promise.resolve();
      void ready.then(() => response.write(piece, () => setTimeout(() => socket.destroySoon(), readMs).unref()));
    }
  }
}
