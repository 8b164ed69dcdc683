/** Time per turn of the event loop in which requests may begin, so that running requests continue in between. */
const beginMs = 0.5;
/** Lengths of the line: during a burst, at the limit while no request is rejected, and at the limit while some are. */
const burstLine = 2000;
const patientLine = 100;
const shortLine = 32;
/**
 * Windows without a rejection after which an overload may be over, and after which the line may be `patientLine` long
 * again.
 */
const freeWindows = 5;
const patientWindows = 20;
/** The longest wait of a request while the process is at its limit. */
const longestWaitMs = 250;
/**
 * Above this rejected part of the requests, a line would always be full. It would not serve more requests, and each
 * served one would wait for the whole line. So no request waits for another to end: new requests fill free room as soon
 * as it exists. While there is room, `heavyLine` requests may wait for a turn.
 */
const heavyPart = 0.2;
const heavyLine = 2;
/** The weight of one window in the moving average of the rejected part. */
const windowWeight = 0.1;
/** The interval at which the gate measures how busy the process is. */
const windowMs = 50;
/**
 * A process that rests for a smaller part of its time, or has a line, is at its limit. It is overloaded, not in a
 * burst, once it has had this many more windows at its limit than others.
 */
const limitRest = 0.02;
const restlessWindows = 20;
/** At its limit, a process gets this much rest, so that its turns stay short. Above `easyRest` it could do more. */
const wantedRest = 0.2;
const easyRest = 0.25;
const idleRest = 0.3;
/** Factors for the allowed number of running requests from one window to the next. The limit never falls below one. */
const fewer = 0.9;
const more = 1.05;
const muchMore = 1.2;
const moreAtLeast = 0.1;
/** A limit this many times the number of running requests does not limit anything. */
const far = 2;

export interface LoadGateOptions {
  /** A clock that never steps back, in ms. */
  readonly now: () => number;
  /** The total time that the event loop has waited for work, in ms. */
  readonly restedMs: () => number;
  /** Runs a task after the work that is now queued in the event loop. */
  readonly afterThisTurn: (task: () => void) => void;
  readonly after: (task: () => void, ms: number) => void;
}

/** A request that waits to be admitted. The gate calls one of the two functions, once. */
export interface Arrival {
  begin(): void;
  refuse(): void;
}

/**
 * Decides when each request begins, and rejects those that the process cannot serve. While the process has spare time,
 * each request begins at once, and a burst waits in line. When it has no rest any more, more requests arrive than it
 * can serve. Then the gate limits the running requests so that the process gets a little rest. Only a short line waits.
 * All other requests are rejected early, while that is cheap and before they have waited long.
 */
export class LoadGate {
  readonly #options: LoadGateOptions;
  #line: { readonly arrival: Arrival; readonly at: number }[] = [];
  #underWay = 0;
  /** The number of requests that may run at a time. Undefined: no limit. */
  #most: number | undefined;
  /** When the first request of this turn was admitted. Undefined between turns with requests. */
  #beganAt: number | undefined;
  #window: Window | undefined;
  #restless = 0;
  /** When the last window closed, and the total rest by then. Set only while no window is open. */
  #unseen: { readonly from: number; readonly restedMs: number } | undefined;
  /** Consecutive windows in which no request was rejected for lack of time. */
  #calm = patientWindows;
  /** Moving average of the part of requests that is rejected for lack of time. */
  #refusedPart = 0;

  constructor(options: LoadGateOptions) {
    this.#options = options;
  }

  /** Begins a request now or soon, or rejects it: at once, or after it has waited too long. */
  admit(arrival: Arrival): void {
    const now = this.#options.now();
    if (this.#window === undefined) {
      this.#forgetBurst(now);
      this.#window = this.#openWindow(now);
    }
    if (this.#beganAt === undefined) this.#openTurn(now);
    const waiting = this.#line.length;
    if (waiting === 0 && this.#mayBegin(now)) {
      this.#begin(arrival);
    } else if (waiting < this.#mayWait()) {
      this.#line.push({ arrival, at: now });
    } else {
      this.#refuse(arrival);
    }
  }

  /** Call this once for each request that began, when it has ended in any way. */
  ended(): void {
    this.#underWay -= 1;
    if (this.#line.length > 0 && this.#beganAt === undefined) this.#openTurn(this.#options.now());
  }

  #mayWait(): number {
    if (this.#most === undefined) return burstLine;
    if (this.#refusedPart > heavyPart) return Math.min(heavyLine, this.#most - this.#underWay);
    // A hundred clients that each ask again after their response are not an overload, because their line does not grow.
    return this.#calm >= patientWindows ? patientLine : shortLine;
  }

  #mayBegin(now: number): boolean {
    return now - (this.#beganAt ?? now) < beginMs && this.#underWay < (this.#most ?? Number.POSITIVE_INFINITY);
  }

  #begin(arrival: Arrival): void {
    this.#underWay += 1;
    if (this.#window !== undefined) {
      this.#window.begun += 1;
      this.#window.most = Math.max(this.#window.most, this.#underWay);
    }
    arrival.begin();
  }

  #refuse(arrival: Arrival): void {
    const from = this.#options.now();
    arrival.refuse();
    if (this.#window === undefined) return;
    this.#window.refused += 1;
    this.#window.refusingMs += this.#options.now() - from;
  }

  #openTurn(now: number): void {
    this.#beganAt = now;
    this.#options.afterThisTurn(() => {
      this.#beganAt = undefined;
      if (this.#line.length > 0) this.#serveLine();
    });
  }

  /**
   * Starts requests from the line. If the limit is reached, the rest waits until another request ends. Otherwise it
   * waits for the next turn.
   */
  #serveLine(): void {
    this.#beganAt = this.#options.now();
    let begun = 0;
    while (begun < this.#line.length && this.#mayBegin(this.#options.now())) {
      const next = this.#line[begun];
      begun += 1;
      if (next !== undefined) this.#begin(next.arrival);
    }
    this.#line.splice(0, begun);
    this.#beganAt = undefined;
    const isFull = this.#underWay >= (this.#most ?? Number.POSITIVE_INFINITY);
    if (this.#line.length > 0 && !isFull) this.#openTurn(this.#options.now());
  }

  #openWindow(from: number): Window {
    this.#options.after(() => this.#endWindow(), windowMs);
    return { from, restedMs: this.#options.restedMs(), begun: 0, refused: 0, refusingMs: 0, most: this.#underWay };
  }

  #endWindow(): void {
    const window = this.#window;
    if (window === undefined) return;
    const now = this.#options.now();
    const rest = (this.#options.restedMs() - window.restedMs) / Math.max(1, now - window.from - window.refusingMs);
    if (this.#most === undefined) {
      const isAtLimit = rest < limitRest || this.#line.length > 0;
      this.#restless = isAtLimit ? this.#restless + 1 : Math.max(0, this.#restless - 1);
      if (this.#restless >= restlessWindows) this.#most = fewerThan(window.most);
    } else {
      this.#refuseLate(now);
      this.#most = this.#mostAfter(window, rest, this.#most);
    }
    // A process that rests and still rejects requests received many at once. The line is for those, so they do not
    // count.
    const strained = rest < idleRest ? window.refused : 0;
    this.#calm = strained > 0 ? 0 : this.#calm + 1;
    this.#refusedPart += windowWeight * (strained / Math.max(1, window.begun + strained) - this.#refusedPart);
    if (this.#line.length > 0 && this.#beganAt === undefined) this.#openTurn(now);
    // Keep measuring while there is a line, a limit, or a request that began.
    const isQuiet = window.begun === 0 && this.#line.length === 0 && this.#most === undefined;
    this.#unseen = isQuiet ? { from: now, restedMs: this.#options.restedMs() } : undefined;
    if (isQuiet && rest >= limitRest) this.#restless = 0;
    this.#window = isQuiet ? undefined : this.#openWindow(now);
  }

  /** Bursts with pauses between them do not add up to an overload. A few long streams that leave no rest do. */
  #forgetBurst(now: number): void {
    const { from, restedMs } = this.#unseen ?? { from: now, restedMs: 0 };
    if (now > from && this.#options.restedMs() - restedMs >= limitRest * (now - from)) this.#restless = 0;
  }

  #mostAfter(window: Window, rest: number, most: number): number | undefined {
    if (rest < wantedRest && window.refused > 0) {
      // The base is the number of running requests, not the limit. Long streams continue after
      // the limit falls, so the limit itself would shrink too far.
      return fewerThan(window.most);
    }
    if (rest <= easyRest && window.refused > 0) return most;
    // If no request is rejected, none has to wait for the sake of rest: that many clients are not an overload. After
    // that has lasted, a limit far above the running requests has no effect. It is determined again when it is needed.
    const isOver = window.refused === 0 && this.#calm >= freeWindows && this.#line.length === 0;
    const isFree = isOver && (rest > idleRest || most > far * window.most);
    if (isFree) this.#restless = 0;
    const growth = rest > idleRest ? muchMore : more;
    return isFree ? undefined : Math.min(most * growth + moreAtLeast, far * window.most + 1);
  }

  /** Rejects requests that have waited too long, because more arrive than the process can serve. */
  #refuseLate(now: number): void {
    const late = this.#line.filter(({ at }) => now - at > longestWaitMs).length;
    for (const { arrival } of this.#line.splice(0, late)) this.#refuse(arrival);
  }
}

/** Subtracts at least one, because rounding could otherwise undo the reduction. */
const fewerThan = (most: number): number => Math.max(1, Math.floor(most * fewer));

/** The counts between two measurements. */
interface Window {
  readonly from: number;
  readonly restedMs: number;
  begun: number;
  refused: number;
  /** Time spent on rejections. A lower limit would not give it back. */
  refusingMs: number;
  /** The highest number of requests that ran at the same time. */
  most: number;
}
