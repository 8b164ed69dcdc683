/** How long requests may begin in one turn of the event loop, so that those under way go on in between. */
const beginMs = 0.5;
/** How many may wait of a burst, how many at the limit while none had to be refused, and how many while some are. */
const burstLine = 2000;
const patientLine = 100;
const shortLine = 32;
/** After so many windows without a refusal an overload may be over, and after so many a line may be patient again. */
const freeWindows = 5;
const patientWindows = 20;
/** At the limit nobody waits for longer. */
const longestWaitMs = 250;
/**
 * Where this part of what comes is refused, a line would always be full: it serves no more, and all that are served wait
 * for all of it. Then nobody waits until another has ended: the next one is there as soon as there is room. Where there is
 * room so many wait for a turn.
 */
const heavyPart = 0.2;
const heavyLine = 2;
/** The weight of one window in the part that is refused. */
const windowWeight = 0.1;
/** How often it is looked at how busy the process is. */
const windowMs = 50;
/** A process that rests for a smaller part of its time, or keeps a line, is at its limit; so many more windows of that than of others are no burst. */
const limitRest = 0.02;
const restlessWindows = 20;
/** What a process at its limit is given, so that its turns stay short; one that rests for a larger part could do more. */
const wantedRest = 0.2;
const easyRest = 0.25;
const idleRest = 0.3;
/** By how much fewer or more may be under way from one window to the next; never fewer than one. */
const fewer = 0.9;
const more = 1.05;
const muchMore = 1.2;
const moreAtLeast = 0.1;
/** A limit so many times what is under way is none. */
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
 * line. Where it finds no rest any more, more comes than can be done: then only so many are under way at a time that it does
 * find a little, only a short line waits, and all others are refused, while that is still cheap and nothing waits long for it.
 */
export class LoadGate {
  readonly #options: LoadGateOptions;
  #line: { readonly arrival: Arrival; readonly at: number }[] = [];
  #underWay = 0;
  /** How many may be under way; undefined: all. */
  #most: number | undefined;
  /** When requests of this turn were first let in; undefined between turns with requests. */
  #beganAt: number | undefined;
  #window: Window | undefined;
  #restless = 0;
  /** When the last window was closed, and how long the loop had rested by then: nobody looked since. */
  #unseen: { readonly from: number; readonly restedMs: number } | undefined;
  /** Windows in a row in which nobody was refused for want of time. */
  #calm = patientWindows;
  /** The part of what comes that is refused for want of time, of late. */
  #refusedPart = 0;

  constructor(options: LoadGateOptions) {
    this.#options = options;
  }

  /** Begins a request now or soon, or refuses it: at once, or when it has waited too long. */
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

  /** One that began is over, however it went: told once for each. */
  ended(): void {
    this.#underWay -= 1;
    if (this.#line.length > 0 && this.#beganAt === undefined) this.#openTurn(this.#options.now());
  }

  #mayWait(): number {
    if (this.#most === undefined) return burstLine;
    if (this.#refusedPart > heavyPart) return Math.min(heavyLine, this.#most - this.#underWay);
    // So many clients that each ask again once they are answered are no overload: their line does not grow.
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

  /** Who waits until another has ended is looked at then; who waits only for a turn has the next one. */
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
    // Who is refused by a process that rests came at once with many others: the line is what such need.
    const strained = rest < idleRest ? window.refused : 0;
    this.#calm = strained > 0 ? 0 : this.#calm + 1;
    this.#refusedPart += windowWeight * (strained / Math.max(1, window.begun + strained) - this.#refusedPart);
    if (this.#line.length > 0 && this.#beganAt === undefined) this.#openTurn(now);
    // Watched for as long as there is something to decide.
    const isQuiet = window.begun === 0 && this.#line.length === 0 && this.#most === undefined;
    this.#unseen = isQuiet ? { from: now, restedMs: this.#options.restedMs() } : undefined;
    if (isQuiet && rest >= limitRest) this.#restless = 0;
    this.#window = isQuiet ? undefined : this.#openWindow(now);
  }

  /** Bursts with a pause between them do not add up to an overload; long streams that leave no time do, however few begin. */
  #forgetBurst(now: number): void {
    const { from, restedMs } = this.#unseen ?? { from: now, restedMs: 0 };
    if (now > from && this.#options.restedMs() - restedMs >= limitRest * (now - from)) this.#restless = 0;
  }

  #mostAfter(window: Window, rest: number, most: number): number | undefined {
    if (rest < wantedRest && window.refused > 0) {
      // Of what is under way, not of what may be: streams that are over only in a while leave no room at once.
      return fewerThan(window.most);
    }
    if (rest <= easyRest && window.refused > 0) return most;
    // Where nobody is refused, nobody is kept waiting for the sake of rest either: so many clients are no overload. Once that
    // has lasted, a limit far above what is under way limits nothing: it is looked for anew when it is needed.
    const isOver = window.refused === 0 && this.#calm >= freeWindows && this.#line.length === 0;
    const isFree = isOver && (rest > idleRest || most > far * window.most);
    if (isFree) this.#restless = 0;
    const growth = rest > idleRest ? muchMore : more;
    return isFree ? undefined : Math.min(most * growth + moreAtLeast, far * window.most + 1);
  }

  /** More comes than can be done: those who have waited for long are told. */
  #refuseLate(now: number): void {
    const late = this.#line.filter(({ at }) => now - at > longestWaitMs).length;
    for (const { arrival } of this.#line.splice(0, late)) this.#refuse(arrival);
  }
}

/** By one at least: what would only be rounded up again is no fewer. */
const fewerThan = (most: number): number => Math.max(1, Math.floor(most * fewer));

/** What is counted between two looks. */
interface Window {
  readonly from: number;
  readonly restedMs: number;
  begun: number;
  refused: number;
  /** What refusing took: time that no fewer under way would give back. */
  refusingMs: number;
  /** The most that were under way at a time. */
  most: number;
}
