/**
 * How much may be held, as a multiple of the budget that stays free: by one holder, and by a group with what a holder asks for. A
 * little is granted to a group that may have no more of the rest.
 */
const part = { holder: 1 / 3, group: 1, groupWithLittle: 3 } as const;
/** A holding of at most this part of the budget is little. */
const little = 1 / 2000;

/** The party that holds bytes: a network or, once it was verified, a credential or its account. */
export interface BodyHolder {
  readonly id: string;
  /** Holders that one caller may have many of, such as tickets. They are bounded together, too. Undefined: no group. */
  readonly group?: string | undefined;
}

/**
 * Divides a budget of bytes among holders, as switches divide their memory among ports (Choudhury and Hahne, "Dynamic
 * queue length thresholds", 1998). A single holder gets a quarter of the budget. Each further one that takes all it can
 * leaves three quarters of the rest, so the next one always finds room. A group gets half of the budget, and leaves half
 * of the rest to others. Small requests may bring it to three quarters, so that its large ones do not stop them.
 */
export class SharedBudget {
  readonly #budget: number;
  readonly #holders = new Map<string, number>();
  readonly #groups = new Map<string, number>();
  #held = 0;

  constructor(budget: number) {
    this.#budget = budget;
  }

  /** The bytes that all hold together. */
  get held(): number {
    return this.#held;
  }

  /**
   * Takes bytes for a holder, for one request that has some already. Returns false, and takes nothing, if the holder or its group
   * would hold too much.
   */
  take({ id, group }: BodyHolder, bytes: number, hasAlready = 0): boolean {
    const free = this.#budget - this.#held - bytes;
    if ((this.#holders.get(id) ?? 0) + bytes > part.holder * free) return false;
    const ofGroup = hasAlready + bytes <= this.#budget * little ? part.groupWithLittle : part.group;
    if (group !== undefined && (this.#groups.get(group) ?? 0) + bytes > ofGroup * free) return false;
    this.#add({ id, group }, bytes);
    return true;
  }

  give(holder: BodyHolder, bytes: number): void {
    this.#add(holder, -bytes);
  }

  #add({ id, group }: BodyHolder, bytes: number): void {
    add(this.#holders, id, bytes);
    if (group !== undefined) add(this.#groups, group, bytes);
    this.#held += bytes;
  }
}

/** Adds to a count. Removes it at zero, so that a map grows with what is held, not with what was ever held. */
function add(counts: Map<string, number>, key: string, bytes: number): void {
  const sum = (counts.get(key) ?? 0) + bytes;
  if (sum > 0) counts.set(key, sum);
  else counts.delete(key);
}

/** Returns the largest part of an empty budget that a single holder can take. */
export const partOfOne = (budget: number): number => Math.floor((budget * part.holder) / (1 + part.holder));
