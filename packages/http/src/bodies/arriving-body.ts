/** From here on a body is large: it must arrive at a minimum rate, and costs more than its connection does. */
export const largeBytes = 64 * 1024;

/** In so many ticks without a byte a body is given up. A large one is measured over as many. */
const ticksInWindow = 10;

const empty = Buffer.alloc(0);

/** Why a body is given up: no byte has come for a while, or it is large and too few have. */
export type Stalled = 'still' | 'slow';

export interface ArrivingBodyOptions {
  /** The most that it can be, in bytes: its `content-length` or, for a body in chunks, the limit. */
  readonly atMost: number;
  /** How many bytes ten ticks must bring of a large body. */
  readonly leastInWindow: number;
}

/**
 * The part of a body that has come so far. It is copied into one buffer as it comes: a body of one-byte chunks would
 * otherwise cost a hundred times its size. The buffer never grows to what a client only announces.
 */
export class ArrivingBody {
  readonly #options: ArrivingBodyOptions;
  #buffer: Buffer = empty;
  #bytes = 0;
  #bytesAtTick = 0;
  #bytesAtWindow = 0;
  #stillTicks = 0;
  #ticks = 0;

  constructor(options: ArrivingBodyOptions) {
    this.#options = options;
  }

  /** How many bytes have come. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How many bytes of memory it takes. */
  get capacity(): number {
    return this.#buffer.length;
  }

  /** How many bytes of memory it will take with another piece of this length. */
  capacityWith(length: number): number {
    const needed = this.#bytes + length;
    if (needed <= this.#buffer.length) return this.#buffer.length;
    return Math.max(needed, Math.min(2 * this.#buffer.length, this.#options.atMost));
  }

  append(piece: Buffer): void {
    const capacity = this.capacityWith(piece.length);
    if (capacity > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(capacity);
      this.#buffer.copy(larger, 0, 0, this.#bytes);
      this.#buffer = larger;
    }
    piece.copy(this.#buffer, this.#bytes);
    this.#bytes += piece.length;
  }

  whole(): Buffer {
    return this.#buffer.subarray(0, this.#bytes);
  }

  /**
   * Called at equal intervals; says whether the body has stalled. It counts calls, not time: a process that was held up has
   * not looked for bytes either.
   */
  tick(): Stalled | undefined {
    this.#stillTicks = this.#bytes === this.#bytesAtTick ? this.#stillTicks + 1 : 0;
    this.#bytesAtTick = this.#bytes;
    if (this.#stillTicks >= ticksInWindow) return 'still';
    this.#ticks += 1;
    if (this.#ticks % ticksInWindow !== 0) return undefined;
    const came = this.#bytes - this.#bytesAtWindow;
    this.#bytesAtWindow = this.#bytes;
    return this.#bytes > largeBytes && came < this.#options.leastInWindow ? 'slow' : undefined;
  }
}
