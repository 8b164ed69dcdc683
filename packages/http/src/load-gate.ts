/** How long requests may begin in one turn of the event loop, so that those under way go on in between. */
const beginMs = 0.5;
/** How many may wait of a burst, how many at the limit while none had to be refused, and how many while some are. */
const burstLine = 2000;
const patientLine = 100;
const shortLine = 32;
/** After so many windows without a refusal a line may be patient again. */
const patientWindows = 20;
/** For how long those of a burst may still wait once more comes than can be done. */
const leftoverMs = 250;
/** How often it is looked at how busy the process is. */
const windowMs = 50;
/** A process that rests for a smaller part of its time, or keeps a line, is at its limit; so many more windows of that than of others are no burst. */
const limitRest = 0.02;
const restlessWindows = 20;
/** What a process at its limit is given, so that its turns stay short; one that rests for a larger part could do more. */
const wantedRest = 0.08;
const easyRest = 0.12;
const idleRest = 0.3;
/** By how much fewer or more requests begin from one window to the next; never fewer than `leastPerMs`. */
const fewer = 0.9;
const more = 1.05;
const leastPerMs = 0.02;
const creditMs = 4;
/** A rate so many times that at which requests begin is no limit. */
const far = 2;

export interface LoadGateOptions {
  /** A clock that never steps back, in ms. */
  readonly now: () => number;
  /** For how long in all the event loop has waited for something to do, in ms. */
  readonly restedMs: () => number;
  /** Runs a task when what waits for the event loop now has had its turn. */
  readonly afterThisTurn: (task: () => void) => void;
  /** Runs a task after some ms. */
  readonly after: (task: () => void, ms: number) => void;
}

/** What waits to be let in: of the two one is called, once. */
export interface Arrival {
  begin(): void;
  refuse(): void;
}

/**
 * Decides when a request begins, and which does not. A process that has time begins each at once, and a burst waits in
 * line. Where it finds no rest any more, more comes than can be done: then requests begin at such a rate that it does find
 * a little, only a short line waits, and all others are refused, while that is still cheap and nothing waits long for it.
 */
export class LoadGate {
  readonly #options: LoadGateOptions;
  #line: Arrival[] = [];
  /** Requests that may begin in a ms; undefined: all. */
  #perMs: number | undefined;
  #credit = 0;
  #creditAt: number;
  /** When requests of this turn were first let in; undefined between turns with requests. */
  #beganAt: number | undefined;
  #window: { readonly from: number; readonly restedMs: number; begun: number; refused: number } | undefined;
  #restless = 0;
  /** Windows in a row in which nobody was refused. */
  #calm = patientWindows;
  /** Whether the line is looked at soon without a request. */
  #isAwaited = false;

  constructor(options: LoadGateOptions) {
    this.#options = options;
    this.#creditAt = options.now();
  }

  /** Begins a request now or soon, or refuses it: at once, but for the rest of a burst that turns out to be none. */
  admit(arrival: Arrival): void {
    const now = this.#options.now();
    this.#window ??= this.#openWindow(now);
    if (this.#beganAt === undefined) this.#openTurn(now);
    const waiting = this.#line.length;
    if (waiting >= this.#mayWait()) {
      if (this.#window !== undefined) this.#window.refused += 1;
      arrival.refuse();
    } else if (waiting > 0 || !this.#mayBegin(now)) {
      this.#line.push(arrival);
    } else {
      this.#count();
      arrival.begin();
    }
  }

  #mayWait(): number {
    if (this.#perMs === undefined) return burstLine;
    // So many clients that each ask again once they are answered are no overload: their line does not grow.
    return this.#calm >= patientWindows ? patientLine : shortLine;
  }

  #mayBegin(now: number): boolean {
    if (this.#perMs === undefined) return now - (this.#beganAt ?? now) < beginMs;
    // What was not used is lost, but for a moment's worth: it would come back as a burst.
    this.#credit = Math.min(1 + creditMs * this.#perMs, this.#credit + (now - this.#creditAt) * this.#perMs);
    this.#creditAt = now;
    return this.#credit >= 1;
  }

  #count(): void {
    this.#credit -= 1;
    if (this.#window !== undefined) this.#window.begun += 1;
  }

  #openTurn(now: number): void {
    this.#beganAt = now;
    this.#options.afterThisTurn(() => {
      this.#beganAt = undefined;
      if (this.#line.length > 0 && !this.#isAwaited) this.#serveLine();
    });
  }

  #serveLine(): void {
    this.#isAwaited = false;
    this.#beganAt = this.#options.now();
    const line = this.#line;
    let begun = 0;
    while (begun < line.length && this.#mayBegin(this.#options.now())) {
      this.#count();
      line[begun]?.begin();
      begun += 1;
    }
    this.#line = line.slice(begun);
    this.#beganAt = undefined;
    if (this.#line.length === 0) return;
    // Who waits for a turn has the next one. Who waits for the rate is looked at later: the process may rest until then.
    if (this.#perMs === undefined) {
      this.#openTurn(this.#options.now());
    } else {
      this.#isAwaited = true;
      this.#options.after(() => this.#serveLine(), 1);
    }
  }

  /** More comes than can be done. Those who would wait for long are told now. */
  #limit(perMs: number): void {
    this.#restless = 0;
    this.#perMs = Math.max(leastPerMs, perMs * fewer);
    const refused = this.#line.splice(Math.max(patientLine, Math.ceil(this.#perMs * leftoverMs)));
    if (refused.length > 0) this.#calm = 0;
    for (const arrival of refused) arrival.refuse();
  }

  #openWindow(from: number) {
    this.#options.after(() => this.#endWindow(), windowMs);
    return { from, restedMs: this.#options.restedMs(), begun: 0, refused: 0 };
  }

  #endWindow(): void {
    const window = this.#window;
    if (window === undefined) return;
    const now = this.#options.now();
    const tookMs = now - window.from;
    const rest = (this.#options.restedMs() - window.restedMs) / tookMs;
    this.#calm = window.refused > 0 ? 0 : this.#calm + 1;
    if (this.#perMs === undefined) {
      const isAtLimit = rest < limitRest || this.#line.length > 0;
      this.#restless = isAtLimit ? this.#restless + 1 : Math.max(0, this.#restless - 1);
      if (this.#restless >= restlessWindows) this.#limit(window.begun / tookMs);
    } else if (rest < wantedRest && window.refused > 0) {
      this.#perMs = Math.max(leastPerMs, Math.min(this.#perMs, window.begun / tookMs) * fewer);
    } else if (rest > easyRest || window.refused === 0) {
      // Where nobody is refused, nobody is kept waiting for the sake of rest either: so many clients are no overload. A rate
      // that is far above what comes limits nothing any more: it is looked for anew when it is needed.
      const isFree = this.#line.length === 0 && (rest > idleRest || this.#perMs > far * (window.begun / tookMs));
      this.#perMs = isFree ? undefined : this.#perMs * more;
    }
    // Watched for as long as there is something to decide.
    const isQuiet = window.begun === 0 && this.#line.length === 0 && this.#perMs === undefined;
    this.#window = isQuiet ? undefined : this.#openWindow(now);
  }
}
