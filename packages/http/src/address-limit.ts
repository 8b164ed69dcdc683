import { networkOf } from './network.ts';

export interface AddressLimitOptions {
  readonly perMinute: number;
  /** How many addresses are told apart; those beyond share one count. */
  readonly maxAddresses: number;
  readonly now: () => number;
}

const minuteMs = 60_000;

/** Counts requests by address within the minute, in memory that is bounded and forgotten as the minute ends. */
export class AddressLimit {
  readonly #options: AddressLimitOptions;
  #counts = new Map<string, number>();
  #endsAt = 0;

  constructor(options: AddressLimitOptions) {
    this.#options = options;
  }

  /** Counts one request. Undefined where it may go on, else the seconds until it may. */
  take(address: string): number | undefined {
    const { perMinute, maxAddresses, now } = this.#options;
    const at = now();
    if (at >= this.#endsAt || at < this.#endsAt - minuteMs) {
      this.#counts = new Map();
      this.#endsAt = at + minuteMs;
    }
    const own = networkOf(address);
    const caller = this.#counts.has(own) || this.#counts.size < maxAddresses ? own : 'others';
    const count = (this.#counts.get(caller) ?? 0) + 1;
    this.#counts.set(caller, count);
    return count > perMinute ? Math.max(1, Math.ceil((this.#endsAt - at) / 1000)) : undefined;
  }
}
