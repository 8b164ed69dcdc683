/** One network may hold this part of what all of them leave free. */
const part = 1 / 3;

/**
 * Divides a budget of bytes among networks, as switches divide their memory among ports (Choudhury and Hahne, "Dynamic
 * queue length thresholds", 1998). A single network gets a quarter of the budget. Each further one that takes all it can
 * leaves three quarters of the rest, so the next one always finds room.
 */
export class SharedBudget {
  readonly #budget: number;
  readonly #byNetwork = new Map<string, number>();
  #held = 0;

  constructor(budget: number) {
    this.#budget = budget;
  }

  /** How many bytes all networks hold together. */
  get held(): number {
    return this.#held;
  }

  /** Takes bytes for a network. Returns false, and takes nothing, where the network would hold too much. */
  take(network: string, bytes: number): boolean {
    const own = (this.#byNetwork.get(network) ?? 0) + bytes;
    const held = this.#held + bytes;
    if (own > part * (this.#budget - held)) return false;
    this.#byNetwork.set(network, own);
    this.#held = held;
    return true;
  }

  /** Gives back bytes that the network took before. */
  give(network: string, bytes: number): void {
    const own = (this.#byNetwork.get(network) ?? 0) - bytes;
    if (own > 0) this.#byNetwork.set(network, own);
    else this.#byNetwork.delete(network);
    this.#held -= bytes;
  }
}
