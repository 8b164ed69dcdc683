/** How long requests may begin in one turn of the event loop, so that those under way go on in between. */
const beginMs = 1;
/** The longest wait to begin in a burst, and once the process has had no rest for `restlessMs`. */
const burstWaitMs = 1000;
const restlessWaitMs = 8;
const restlessMs = 250;
/** So many at once are never too many: where they are slow it is not for their number. */
const fewRequests = 16;
/** Less than this is no rest. */
const restMs = 0.1;
/** How much of an estimate the newest figure is. */
const weight = 0.2;

export interface LoadGateOptions {
  /** A clock that never steps back, in ms. */
  readonly now: () => number;
  /** For how long in all the event loop has waited for something to do, in ms. */
  readonly restedMs: () => number;
  /** Runs a task when what waits for the event loop now has had its turn. */
  readonly afterThisTurn: (task: () => void) => void;
}

/**
 * Decides when a request begins, and which does not. A process that has time begins each at once, and a burst waits in
 * line. Where it gets no rest any more, more comes than can be done (after CoDel, RFC 8289): then what would wait for more
 * than a moment is refused while that is still cheap, so that the others keep their time. A request has waited before it
 * comes here, too: for as long as the turn of the event loop took in which it arrived.
 */
export class LoadGate {
  readonly #options: LoadGateOptions;
  #line: (() => void)[] = [];
  /** When it had its last rest, and how much in all by then. */
  #restedAt: number;
  #restedMs: number;
  /** When requests of this turn were first let in; undefined between turns with requests. */
  #beganAt: number | undefined;
  #turnFrom: number;
  #lastTurnMs = 0;
  #begun = 0;
  /** How long one of the line takes to begin, with all that is done in between. */
  #msEach = 0.2;

  constructor(options: LoadGateOptions) {
    this.#options = options;
    this.#restedAt = options.now();
    this.#turnFrom = this.#restedAt;
    this.#restedMs = options.restedMs();
  }

  /** Begins a request now or soon; false where it is refused, and `begin` will never be called. */
  admit(begin: () => void): boolean {
    const now = this.#options.now();
    if (this.#beganAt === undefined) this.#openTurn(now);
    const waitMs = this.#lastTurnMs + this.#line.length * this.#msEach;
    const isRestless = now - this.#restedAt > restlessMs;
    const isFew = this.#line.length + this.#begun < fewRequests;
    if (!isFew && waitMs > (isRestless ? restlessWaitMs : burstWaitMs)) return false;
    if (this.#line.length > 0 || !this.#hasTime(now)) {
      this.#line.push(begin);
      return true;
    }
    this.#begun += 1;
    begin();
    return true;
  }

  #hasTime(now: number): boolean {
    return now - (this.#beganAt ?? now) < beginMs;
  }

  #openTurn(now: number): void {
    const restedMs = this.#options.restedMs();
    if (restedMs - this.#restedMs > restMs) {
      this.#restedAt = now;
      this.#turnFrom = now;
      this.#lastTurnMs = 0;
    }
    this.#restedMs = restedMs;
    this.#beganAt = now;
    this.#begun = 0;
    this.#options.afterThisTurn(() => this.#endTurn());
  }

  #endTurn(): void {
    const now = this.#options.now();
    this.#lastTurnMs = now - this.#turnFrom;
    this.#turnFrom = now;
    this.#beganAt = undefined;
    if (this.#line.length === 0) return;
    if (this.#begun > 0) this.#msEach += weight * (this.#lastTurnMs / this.#begun - this.#msEach);
    this.#openTurn(now);
    const line = this.#line;
    let begun = 0;
    while (begun < line.length && (begun === 0 || this.#hasTime(this.#options.now()))) {
      line[begun]?.();
      begun += 1;
    }
    this.#begun = begun;
    this.#line = line.slice(begun);
  }
}
