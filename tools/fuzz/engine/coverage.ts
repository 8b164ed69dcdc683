import { type Profiler, Session } from 'node:inspector';

/**
 * Which blocks of the project's code ran, as V8 counts them (the precise coverage of its profiler). Code runs about as fast
 * as without; asking costs milliseconds, so one asks after many inputs and looks closer only where something is new.
 */
export class BlockCoverage {
  readonly #session = new Session();
  readonly #known = new Set<string>();

  constructor() {
    this.#session.connect();
    this.#post('Profiler.enable');
    this.#post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Blocks that ran since the last call and never before `learn` was told of them. */
  fresh(): string[] {
    const { result } = this.#post('Profiler.takePreciseCoverage') as Profiler.TakePreciseCoverageReturnType;
    const ran: string[] = [];
    for (const { url, scriptId, functions } of result) {
      if (!isOurs.test(url)) continue;
      for (const { ranges } of functions) {
        for (const { count, startOffset, endOffset } of ranges) {
          if (count > 0) ran.push(`${scriptId}:${startOffset}:${endOffset}`);
        }
      }
    }
    return ran.filter((block) => !this.#known.has(block));
  }

  learn(blocks: readonly string[]): void {
    for (const block of blocks) this.#known.add(block);
  }

  /** Forgets what was learned: for another target, or to choose anew. */
  forget(): void {
    this.#known.clear();
    this.fresh();
  }

  get size(): number {
    return this.#known.size;
  }

  close(): void {
    this.#session.disconnect();
  }

  #post(method: string, parameters?: object): unknown {
    let answered: unknown;
    // In its own thread the session answers before it returns.
    this.#session.post(method, parameters, (error, result) => {
      if (error !== null) throw error;
      answered = result;
    });
    return answered;
  }
}

const isOurs = /\/(?:packages|apps)\/[a-z]+\/src\/(?!(?:.*\/)?testing\/)/;
