import { type Random, standardNormal } from '../../test/kit/random.ts';
import { closingH, type Deposit, days, firstBuyH, guessedFrom, lastBuyH, restingH, typical } from './people.ts';

/** Lives that are told of an account. With half as many, guesses are worse by one or two points. */
const told = 1500;
/** The first days are told with more, because most of their habits do not fit. */
const [toldAtFirst, firstDays] = [4 * told, 3];
/** A deposit is judged by the purchases until so many days later. */
const judgedDays = 8;
/** More batches that rest at once count as ready. */
const mostResting = 24;

/** One life that an account's owner may have led (a particle). Its fields change in place, because millions are told. */
class PossibleLife {
  weight = 1;
  /** Logarithms of the runs a day and of the credits a run, and the usual hour of the day. */
  logRuns = 0;
  logSpending = 0;
  home = 0;
  firstDay = 0;
  /** The day of the deposit that is judged; -1 if none is. */
  depositDay = -1;
  /** Credits that are ready, and all that are left. */
  ready = 0;
  left = 0;
  resting = 0;
  readonly readyAt = new Float64Array(mostResting);
  readonly count = new Float64Array(mostResting);
  /** The oldest purchase that no run has made, and those after it which a run has made, as bits. */
  oldest = 0;
  made = 0;
  /** Deposits in the weeks in which deposits are guessed. */
  recent = 0;

  become(other: PossibleLife): void {
    this.weight = 1;
    this.logRuns = other.logRuns;
    this.logSpending = other.logSpending;
    this.home = other.home;
    this.firstDay = other.firstDay;
    this.depositDay = other.depositDay;
    this.ready = other.ready;
    this.left = other.left;
    this.resting = other.resting;
    for (let each = 0; each < other.resting; each += 1) {
      this.readyAt[each] = other.readyAt[each] ?? 0;
      this.count[each] = other.count[each] ?? 0;
    }
    this.oldest = other.oldest;
    this.made = other.made;
    this.recent = other.recent;
  }

  rest(count: number, readyAt: number): void {
    if (this.resting === mostResting || count === 0) {
      this.ready += count;
      return;
    }
    this.readyAt[this.resting] = readyAt;
    this.count[this.resting] = count;
    this.resting += 1;
  }

  /** Counts the credits as ready that are so at a time. */
  ripen(at: number): void {
    for (let each = 0; each < this.resting; ) {
      if ((this.readyAt[each] ?? 0) > at) each += 1;
      else {
        this.ready += this.count[each] ?? 0;
        this.resting -= 1;
        this.readyAt[each] = this.readyAt[this.resting] ?? 0;
        this.count[each] = this.count[this.resting] ?? 0;
      }
    }
  }

  /** Lets a run at a time make one of the purchases that follow it. Returns how many it could have made. */
  buy(purchases: readonly number[], at: number, random: Random): number {
    const fits = (which: number): boolean =>
      (purchases[which] ?? 0) >= at + firstBuyH && ((this.made >>> (which - this.oldest)) & 1) === 0;
    let choices = 0;
    for (let which = this.oldest; (purchases[which] ?? at + lastBuyH + 1) <= at + lastBuyH; which += 1)
      if (fits(which)) choices += 1;
    if (choices === 0) return 0;
    let which = this.oldest;
    for (let skipped = random.below(choices); skipped > 0 || !fits(which); which += 1) if (fits(which)) skipped -= 1;
    this.rest(50, (purchases[which] ?? 0) + restingH(random));
    this.left += 50;
    this.made |= 1 << (which - this.oldest);
    for (; this.made & 1; this.made >>>= 1) this.oldest += 1;
    return choices;
  }
}

/** Possible lives of one account, and the logarithm of how likely its purchases are so far. */
class Lives {
  readonly all: PossibleLife[];
  logLikelihood = 0;

  constructor(count: number) {
    this.all = Array.from({ length: count }, () => new PossibleLife());
  }

  meanOf(value: (life: PossibleLife) => number): number {
    return this.all.reduce((sum, life) => sum + value(life), 0) / this.all.length;
  }

  /** Becomes as many of the others, each as often as its weight says (systematic resampling). Returns false if none has any. */
  drawFrom(
    { all, logLikelihood }: Lives,
    random: Random,
    weightOf = (life: PossibleLife): number => life.weight,
  ): boolean {
    const total = all.reduce((sum, life) => sum + weightOf(life), 0);
    if (total === 0) return false;
    const per = total / this.all.length;
    let passed = -per * random.next();
    let drawn = 0;
    for (const life of all) {
      passed += weightOf(life);
      for (; passed > drawn * per && drawn < this.all.length; drawn += 1) this.all[drawn]?.become(life);
    }
    for (const life of this.all.slice(drawn)) life.become(this.all[0] ?? life);
    this.logLikelihood = logLikelihood + Math.log(total / all.length);
    return true;
  }

  /** Moves habits a little, so that lives stay different. Mean and spread stay (Liu and West, 2001). */
  vary(random: Random): void {
    for (const habit of ['logRuns', 'logSpending', 'home'] as const) this.#vary(habit, random);
  }

  #vary(habit: 'logRuns' | 'logSpending' | 'home', random: Random): void {
    const kept = 0.98;
    const mean = this.meanOf((life) => life[habit]);
    const moved = Math.sqrt((1 - kept ** 2) * this.meanOf((life) => (life[habit] - mean) ** 2));
    for (const life of this.all) life[habit] = kept * life[habit] + (1 - kept) * mean + moved * standardNormal(random);
  }
}

/** Tells possible lives of accounts whose batches are bought one at a time, apart from runs. It keeps the memory of one account for the next. */
export class Teller {
  readonly #random: Random;
  readonly #first = new Lives(toldAtFirst);
  readonly #usual: readonly [Lives, Lives] = [new Lives(told), new Lives(told)];
  readonly #forked: readonly [Lives, Lives] = [new Lives(told), new Lives(told)];
  readonly #runs = new Float64Array(64);

  constructor(random: Random) {
    this.#random = random;
  }

  /**
   * For each deposit, how much likelier an account's purchases are if it made it: the logarithm of the ratio. A constant is missing,
   * which is the same for all accounts.
   */
  ratios(purchases: readonly number[], deposits: readonly Deposit[]): number[] {
    const ratios = deposits.map(() => Number.NEGATIVE_INFINITY);
    const [first] = purchases;
    if (first === undefined) return ratios;
    const begins = this.#begin(first);
    const judged = deposits.map(() => ({ until: -1, log: Number.NEGATIVE_INFINITY }));
    let lives: Lives | undefined = this.#first;
    for (let day = begins; day < days && lives !== undefined; day += 1) {
      for (const [which, deposit] of deposits.entries()) {
        // The usual hour is hardly later than two in the morning.
        if (Math.max(begins, Math.round((deposit.at - 26) / 24)) !== day || first + 1 > deposit.at) continue;
        const until = Math.min(days - 1, day + judgedDays);
        judged[which] = { until, log: this.#withDeposit(lives, purchases, deposit, { from: day, until }) };
      }
      this.#day(lives, purchases, day);
      lives = this.#settled(lives, this.#usual, lives === this.#first && day >= begins + firstDays);
      if (lives === undefined) break;
      const without = lives.logLikelihood + Math.log(lives.meanOf(({ weight }) => weight));
      for (const [which, { until, log }] of judged.entries()) if (until === day) ratios[which] = log - without;
    }
    return ratios;
  }

  /** Draws habits and a first day that fit the first purchase. Returns the first day of all. */
  #begin(purchase: number): number {
    const random = this.#random;
    const tail = 3 * typical.hourSpread;
    this.#first.logLikelihood = 0;
    let begins = days;
    for (const life of this.#first.all) {
      life.logRuns = Math.log(typical.runsADay[0]) + typical.runsADay[1] * standardNormal(random);
      life.logSpending = Math.log(typical.perRun[0]) + typical.perRun[1] * standardNormal(random);
      life.home = typical.home[0] + typical.home[1] * standardNormal(random);
      life.ready = life.left = life.resting = life.oldest = life.made = life.recent = 0;
      const earliest = Math.max(0, Math.ceil((purchase - lastBuyH - life.home - tail) / 24));
      const latest = Math.min(days - 1, Math.floor((purchase - firstBuyH - life.home + tail) / 24));
      life.weight = 0;
      if (latest < earliest) continue;
      life.firstDay = earliest + random.below(latest - earliest + 1);
      begins = Math.min(begins, life.firstDay);
      // The first day with a run: people begin on any of the first days, and may have no run for some.
      const none = Math.max(0, 1 - Math.exp(life.logRuns));
      for (let day = Math.min(typical.firstDays - 1, life.firstDay); day >= 0; day -= 1)
        life.weight += none ** (life.firstDay - day);
      life.weight *= (1 - none) * (latest - earliest + 1);
    }
    return begins;
  }

  /** The logarithm of how likely the purchases until a day are, together with a deposit. */
  #withDeposit(
    lives: Lives,
    purchases: readonly number[],
    deposit: Deposit,
    { from, until }: { readonly from: number; readonly until: number },
  ): number {
    const dayOf = ({ home }: PossibleLife): number => Math.max(from, Math.round((deposit.at - home) / 24));
    let forked: Lives | undefined = this.#forked[0];
    const some = forked.drawFrom(lives, this.#random, (life) => life.weight * likelinessOf(deposit, life, dayOf(life)));
    if (!some) return Number.NEGATIVE_INFINITY;
    for (const life of forked.all) life.depositDay = dayOf(life);
    for (let day = from; day <= until && forked !== undefined; day += 1) {
      this.#day(forked, purchases, day, deposit);
      forked = this.#settled(forked, this.#forked, false);
    }
    if (forked === undefined) return Number.NEGATIVE_INFINITY;
    // It is one of the deposits of these weeks: those until now, and those expected of the days that are left.
    const daysLeft = days - 1 - Math.max(until, guessedFrom / 24 - 1);
    const mean = forked.meanOf(({ weight, depositDay, recent, logRuns }) =>
      depositDay <= until ? weight / (Math.max(1, recent) + Math.exp(logRuns) * daysLeft) : 0,
    );
    return forked.logLikelihood + Math.log(mean);
  }

  /** These lives, or as many drawn anew if few carry most of the weight. Undefined if none is possible. */
  #settled(lives: Lives, [one, other]: readonly [Lives, Lives], always: boolean): Lives | undefined {
    const total = lives.meanOf(({ weight }) => weight);
    const squares = lives.meanOf(({ weight }) => weight ** 2);
    if (total > 0 && !always && total ** 2 / squares > 0.8) return lives;
    const next = lives === one ? other : one;
    if (!next.drawFrom(lives, this.#random)) return undefined;
    next.vary(this.#random);
    return next;
  }

  /** Lives one day of every life. A life whose day it is makes the deposit. A life that does not fit the purchases gets no weight. */
  #day({ all }: Lives, purchases: readonly number[], day: number, deposit?: Deposit): void {
    for (const life of all) {
      if (life.weight === 0 || day < life.firstDay) continue;
      const makes = life.depositDay === day ? deposit : undefined;
      this.#live(life, purchases, this.#drawRuns(life, day, makes), makes);
      // A run of this day at the latest made a purchase that comes before any of the next day could. Runs are hardly 10.5 hours early.
      const due = day === days - 1 ? Number.POSITIVE_INFINITY : (day + 1) * 24 + life.home - 10.5 + firstBuyH;
      if ((purchases[life.oldest] ?? Number.POSITIVE_INFINITY) < due) life.weight = 0;
    }
  }

  /** Draws the times of a day's runs, in order. Returns how many there are. */
  #drawRuns(life: PossibleLife, day: number, deposit: Deposit | undefined): number {
    const [random, runs] = [this.#random, this.#runs];
    const mean = Math.exp(life.logRuns);
    const makesDeposit = deposit === undefined ? -1 : Math.floor(random.next() * mean);
    let count = 0;
    for (let which = 0; which < mean && count < runs.length; which += 1) {
      const surely = mean - which >= 1 || (day === life.firstDay && which === 0);
      if (which !== makesDeposit && !surely && !random.chance(mean - which)) continue;
      const at =
        which === makesDeposit
          ? (deposit?.at ?? 0)
          : 24 * day + life.home + typical.hourSpread * standardNormal(random);
      let place = count;
      for (; place > 0 && (runs[place - 1] ?? 0) > at; place -= 1) runs[place] = runs[place - 1] ?? 0;
      runs[place] = at;
      count += 1;
    }
    return count;
  }

  /** Runs buy where they must, and use a batch where one is ready. */
  #live(life: PossibleLife, purchases: readonly number[], count: number, deposit: Deposit | undefined): void {
    const random = this.#random;
    for (let run = 0; run < count && life.weight > 0; run += 1) {
      const at = this.#runs[run] ?? 0;
      if (life.left < 100) life.weight *= life.buy(purchases, at, random);
      life.ripen(at);
      if (life.ready < 50) {
        if (deposit?.at === at) life.weight = 0;
        continue;
      }
      const drawn = Math.exp(life.logSpending + typical.spendingSpread * standardNormal(random));
      const spent = deposit?.at === at ? deposit.spent : Math.max(1, Math.min(50, Math.round(drawn)));
      life.ready -= 50;
      life.left -= spent;
      if (at >= guessedFrom) life.recent += 1;
      life.rest(50 - spent, at + closingH(random) + restingH(random));
    }
  }
}

/** How likely a life makes a deposit at its time and with its spending, but for a constant. */
function likelinessOf(
  { at, spent }: Deposit,
  { logRuns, logSpending, home, firstDay }: PossibleLife,
  day: number,
): number {
  if (day < firstDay) return 0;
  const hours = (at - 24 * day - home) / typical.hourSpread;
  const spending = (Math.log(spent) - logSpending) / typical.spendingSpread;
  // A run never spends more than a wallet has: there, the tail of the normal distribution (nearly logistic).
  const ofSpending = spent < 50 ? Math.exp(-(spending ** 2) / 2) : 1 / (1 + Math.exp(1.702 * spending));
  return Math.exp(logRuns - hours ** 2 / 2) * ofSpending;
}
