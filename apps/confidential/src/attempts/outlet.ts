/** Where an answer flows once it has output. Strings are `latin1`, one character a byte. */
export interface StreamSink {
  write(piece: string | Buffer): void;
  /** The answer is over: whole, or broken off by the provider or by its silence. */
  end(ending: 'complete' | 'broke'): void;
}

/** The client's side of an attempt: what comes before the client is there to take it is kept back. */
export class Outlet {
  #sink: StreamSink | undefined;
  #keptBack: (string | Buffer)[] = [];
  #ending: 'complete' | 'broke' | undefined;

  /** Lets the answer flow: what was kept back goes out first. Call once. */
  flowTo(sink: StreamSink): void {
    this.#sink = sink;
    const keptBack = this.#keptBack;
    this.#keptBack = [];
    for (const piece of keptBack) sink.write(piece);
    if (this.#ending !== undefined) sink.end(this.#ending);
  }

  write(piece: string | Buffer): void {
    if (this.#sink !== undefined) {
      this.#sink.write(piece);
      return;
    }
    const last = this.#keptBack.at(-1);
    // The first frames of a stream leave in one write.
    if (typeof last === 'string' && typeof piece === 'string') this.#keptBack[this.#keptBack.length - 1] = last + piece;
    else this.#keptBack.push(piece);
  }

  end(ending: 'complete' | 'broke'): void {
    this.#ending = ending;
    this.#sink?.end(ending);
  }
}
