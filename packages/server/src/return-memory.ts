import { queryObjects } from 'node:v8';

/** The time without a request after which a process returns memory, in ms. */
const quietMs = 10_000;

/**
 * Returns memory to the system when nobody asks. V8 keeps the space of new objects as large as the start or the last
 * load made it, up to 48 MiB, until it collects the old ones. A collection stops the process for some 50 ms, so it
 * waits until no request has run for ten seconds.
 */
export class MemoryReturn {
  readonly #after: (task: () => void, ms: number) => void;
  readonly #collect: () => void;
  #running = 0;
  #begun = 0;
  #begunBefore = 0;
  #looks = false;
  /** Off until the process says that it does nothing but serve. */
  isOn = false;

  constructor(after: (task: () => void, ms: number) => void, collect: () => void) {
    this.#after = after;
    this.#collect = collect;
  }

  /** Call this when the process starts to serve. The start leaves garbage too. */
  started(): void {
    if (!this.isOn || this.#looks) return;
    this.#looks = true;
    this.#after(() => this.#look(), quietMs);
  }

  begun(): void {
    this.#running += 1;
    this.#begun += 1;
    this.started();
  }

  ended(): void {
    this.#running -= 1;
  }

  #look(): void {
    this.#looks = false;
    const isQuiet = this.#running === 0 && this.#begun === this.#begunBefore;
    this.#begunBefore = this.#begun;
    if (isQuiet) this.#collect();
    else this.started();
  }
}

/**
 * Node has no API for such a collection, but it counts objects only after one. Its warning that this API may change would
 * be in the log of every process.
 */
function collectAll(): void {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    queryObjects(MemoryReturn, { format: 'count' });
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** The one of this process. Servers tell it what runs. */
export const memoryReturn = new MemoryReturn((task, ms) => setTimeout(task, ms).unref(), collectAll);

/** Lets a process that does nothing but serve return memory when nobody asks. */
export function returnMemoryWhenQuiet(): void {
  memoryReturn.isOn = true;
}
