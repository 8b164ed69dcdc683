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

/** Whether a piece fills at least half of the memory that stays while it does. */
const isDense = ({ length, buffer }: Buffer): boolean => length >= 8 * 1024 && 2 * length >= buffer.byteLength;

/** Why a body is rejected: `still`, no byte has come for a while; `slow`, it is large and too few bytes have come. */
export type Stalled = 'still' | 'slow';

export interface ArrivingBodyOptions {
  /** The maximum size in bytes: its `content-length` or, for a chunked body, the limit. */
  readonly atMost: number;
  /** The minimum number of bytes that a large body must gain in ten ticks. */
  readonly leastInWindow: number;
}

/** Size in bytes above which gathered pieces are not moved again. */
const mostGathered = 64 * 1024;

/**
 * The bytes of a body that have arrived so far. A piece that fills at least half of the memory behind it is kept as it is. Others are
 * copied together, because a body of one-byte chunks would otherwise take a hundred times its size. Memory grows with the bytes that
 * arrive, not with the announced length, and is at most twice as many.
 */
export class ArrivingBody {
  readonly #options: ArrivingBodyOptions;
  /** In order, before what is gathered. */
  #kept: Buffer[] = [];
  #keptCapacity = 0;
  #gathered: Buffer = empty;
  #gatheredBytes = 0;
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
    return this.#keptCapacity + this.#gathered.length;
  }

  /** The bytes of memory that it will take after another piece. */
  capacityWith(piece: Buffer): number {
    if (isDense(piece)) return this.capacity + piece.buffer.byteLength;
    return (
      this.#keptCapacity + (this.#fits(piece) ? this.#sizeWith(piece) : this.#gathered.length + this.#nextSize(piece))
    );
  }

  append(piece: Buffer): void {
    if (isDense(piece)) {
      this.#keepGathered(empty);
      this.#kept.push(piece);
      this.#keptCapacity += piece.buffer.byteLength;
    } else this.#gather(piece);
    this.#bytes += piece.length;
  }

  #gather(piece: Buffer): void {
    if (!this.#fits(piece)) this.#keepGathered(Buffer.allocUnsafeSlow(this.#nextSize(piece)));
    const size = this.#sizeWith(piece);
    if (size > this.#gathered.length) {
      const larger = Buffer.allocUnsafe(size);
      this.#gathered.copy(larger, 0, 0, this.#gatheredBytes);
      this.#gathered = larger;
    }
    piece.copy(this.#gathered, this.#gatheredBytes);
    this.#gatheredBytes += piece.length;
  }

  /** Returns the body and lets go of it. Listeners of the connection keep this object until the response has closed. */
  whole(): Buffer {
    this.#keepGathered(empty);
    const kept = this.#kept;
    this.#kept = [];
    this.#keptCapacity = 0;
    return kept.length === 1 ? (kept[0] ?? empty) : Buffer.concat(kept, this.#bytes);
  }

  /** Whether a piece goes where the last ones went. A full buffer takes no more, because moving it would cost more than another. */
  #fits({ length }: Buffer): boolean {
    const needed = this.#gatheredBytes + length;
    return needed <= this.#gathered.length || this.#gatheredBytes === 0 || needed <= mostGathered;
  }

  #sizeWith({ length }: Buffer): number {
    const needed = this.#gatheredBytes + length;
    if (needed <= this.#gathered.length) return this.#gathered.length;
    return Math.max(needed, Math.min(2 * this.#gathered.length, this.#options.atMost));
  }

  /** The size of another buffer: 64 KiB, or less if the body announced less. */
  #nextSize({ length }: Buffer): number {
    return Math.max(length, Math.min(mostGathered, this.#options.atMost - this.#bytes));
  }

  #keepGathered(next: Buffer): void {
    if (this.#gatheredBytes > 0) {
      this.#kept.push(this.#gathered.subarray(0, this.#gatheredBytes));
      this.#keptCapacity += this.#gathered.length;
    }
    this.#gathered = next;
    this.#gatheredBytes = 0;
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
