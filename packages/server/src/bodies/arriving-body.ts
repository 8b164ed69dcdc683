/**
 * Size in bytes above which a body is large. A large body must arrive at a minimum rate, because it costs more memory
 * than its connection.
 */
export const largeBytes = 64 * 1024;

/**
 * Number of ticks without a byte after which a body has stalled. The rate of a large body is measured over the same
 * number.
 */
const ticksInWindow = 10;

const empty = Buffer.alloc(0);

/** Why a body is rejected: `still`, no byte has come for a while; `slow`, it is large and too few bytes have come. */
export type Stalled = 'still' | 'slow';

export interface ArrivingBodyOptions {
  /** The maximum size in bytes: its `content-length` or, for a chunked body, the limit. */
  readonly atMost: number;
  /** The minimum number of bytes that a large body must gain in ten ticks. */
  readonly leastInWindow: number;
}

/**
 * The bytes of a body that have arrived so far. Each piece is copied into one buffer, because a body of one-byte chunks
 * would otherwise take a hundred times its size. The buffer grows with the bytes that arrive, not with the announced
 * length.
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

  get bytes(): number {
    return this.#bytes;
  }

  /** The bytes of memory that it takes. */
  get capacity(): number {
    return this.#buffer.length;
  }

  /** The bytes of memory that it will take after another piece of this length. */
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

  /** Returns the body and lets go of it. Listeners of the connection keep this object until the response has closed. */
  whole(): Buffer {
    const buffer = this.#buffer;
    this.#buffer = empty;
    return buffer.subarray(0, this.#bytes);
  }

  /**
   * Returns why the body has stalled, if it has. Call it at equal intervals. It counts calls instead of time, because a
   * process that was blocked has not read any bytes either.
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
