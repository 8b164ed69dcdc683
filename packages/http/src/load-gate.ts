/** How long requests may begin in one turn of the event loop, so that those under way go on in between. */
const turnMs = 2;
/** The longest wait to begin in a burst, and once requests have waited without a break for `standingMs`. */
const burstWaitMs = 250;
const standingWaitMs = 10;
const standingMs = 100;
/** How much of an estimate the newest figure is. */
const weight = 0.2;

export interface LoadGateOptions {
  /** A clock that never steps back, in ms. */
  readonly now: () => number;
  /** Runs a task when what waits for the event loop now has had its turn. */
  readonly afterThisTurn: (task: () => void) => void;
}

/**
 * Decides when a request begins, and which does not. An idle process begins each at once. A burst waits in line. Where the
 * line does not empty for a while more comes than can be done (after CoDel, RFC 8289): then only a short one is kept, and
 * what would wait longer is refused while that is still cheap, so that the others keep their time.
 */
export class LoadGate {
  readonly #options: LoadGateOptions;
  #line: (() => void)[] = [];
  #emptyAt: number;
  #turnFrom: number | undefined;
  #begunThisTurn = 0;
  /** How long one of the line takes to begin, with all that is done in between. */
  #msEach = 0.2;

  constructor(options: LoadGateOptions) {
    this.#options = options;
    this.#emptyAt = options.now();
  }

  /** Begins a request now or soon; false where it is refused, and `begin` will never be called. */
  admit(begin: () => void): boolean {
    const now = this.#options.now();
    if (this.#turnFrom === undefined) this.#openTurn(now);
    if (this.#line.length === 0) {
      this.#emptyAt = now;
      if (this.#hasTime(now)) {
        this.#begunThisTurn += 1;
        begin();
        return true;
      }
    }
    const isStanding = now - this.#emptyAt > standingMs;
    if (this.#line.length * this.#msEach > (isStanding ? standingWaitMs : burstWaitMs)) return false;
    this.#line.push(begin);
    return true;
  }

  #hasTime(now: number): boolean {
    return now - (this.#turnFrom ?? now) < turnMs;
  }

  #openTurn(now: number): void {
    this.#turnFrom = now;
    this.#begunThisTurn = 0;
    this.#options.afterThisTurn(() => this.#endTurn());
  }

  #endTurn(): void {
    const now = this.#options.now();
    if (this.#line.length === 0) {
      this.#turnFrom = undefined;
      return;
    }
    if (this.#begunThisTurn > 0) {
      const msEach = (now - (this.#turnFrom ?? now)) / this.#begunThisTurn;
      this.#msEach += weight * (msEach - this.#msEach);
    }
    this.#openTurn(now);
    const line = this.#line;
    let begun = 0;
    while (begun < line.length && (begun === 0 || this.#hasTime(this.#options.now()))) {
      line[begun]?.();
      begun += 1;
    }
    this.#begunThisTurn = begun;
    this.#line = line.slice(begun);
    if (this.#line.length === 0) this.#emptyAt = this.#options.now();
  }
}
