import { randomId } from '@sotto/http';
import { type Metered, type MeterReading, meter, noUsage, type Price, type RequestEnd } from '@sotto/money';
import type { Route } from '@sotto/router';
import { type HoldBook, type Settlement, signSettlement } from '@sotto/state';
import type { Admission } from '../admission/admit.ts';
import { Patience } from './patience.ts';

export interface SettlementDependencies {
  readonly holds: HoldBook;
  readonly macKey: Buffer;
  readonly now: () => number;
  readonly onExcess: (route: Route, excessNusd: bigint) => void;
}

/** The route that served, or was working for the client when it left, and what it produced. */
export interface Served extends Pick<MeterReading, 'reported' | 'counted' | 'bounds'> {
  readonly route: Route;
  /** Where it is not the route's. */
  readonly price?: Price;
}

/** A charge and all that it follows from. */
export interface RequestBill extends Pick<Metered, 'usage' | 'chargeNusd' | 'estimated'> {
  readonly price: Price;
  readonly catalogDigest: string;
}

const minuteMs = 60_000;
const statuses: Record<RequestEnd, Settlement['status']> = {
  completed: 'completed',
  client_left: 'cancelled',
  provider_broke: 'failed',
  provider_broke_while_held_back: 'cancelled',
  total_time_ran_out: 'failed',
  shut_down: 'failed',
  shut_down_while_held_back: 'cancelled',
  answer_too_large: 'failed',
  client_left_before_output: 'cancelled',
  no_output: 'failed',
};

/**
 * Does the work that a hold was placed for. The hold is settled exactly once: by the work or, where it ends or throws
 * without that, by being released here.
 */
export async function settledOnce(
  settlement: RequestSettlement,
  work: (settlement: RequestSettlement) => Promise<void>,
): Promise<void> {
  try {
    await work(settlement);
  } finally {
    if (!settlement.isSettled) await settlement.settle('no_output', undefined);
  }
}

/** The one settlement of one admitted request: whichever way the request ends, and however often it is told so. */
export class RequestSettlement {
  readonly #deps: SettlementDependencies;
  readonly #admission: Admission;
  readonly #operation: Settlement['operation'];
  /** What the end of the answer waits for, all in all. */
  readonly patience = new Patience();
  #metered: Metered | undefined;
  #bill: RequestBill | undefined;
  attempts = 0;

  constructor(deps: SettlementDependencies, admission: Admission, operation: Settlement['operation']) {
    this.#deps = deps;
    this.#admission = admission;
    this.#operation = operation;
  }

  get isSettled(): boolean {
    return this.#metered !== undefined;
  }

  /** What was charged, and what it follows from; undefined before it is settled, and where nothing was served. */
  get bill(): RequestBill | undefined {
    return this.#bill;
  }

  /** Settles, once; resolves when it is accepted or patience has run out. A second call changes nothing. */
  async settle(end: RequestEnd, served: Served | undefined): Promise<Metered> {
    if (this.#metered !== undefined) return this.#metered;
    const { holdNusd, shard, holdId } = this.#admission;
    const free: Metered = { usage: noUsage, chargeNusd: 0n, excessNusd: 0n, estimated: false, waivable: false };
    const metered = served === undefined ? free : meter({ price: served.route.price, ...served, end, holdNusd });
    // Nothing was tried: the hold goes back, and there is nothing to tell.
    const entry =
      this.attempts === 0 ? undefined : signSettlement(this.#deps.macKey, this.#record(end, served, metered));
    const { catalogDigest } = this.#admission;
    const { usage, chargeNusd } = metered;
    // No step above may leave a trace, because it may throw: the hold is released then as one that was not settled.
    this.#metered = metered;
    this.#bill = served && { ...metered, price: served.price ?? served.route.price, catalogDigest };
    const accepted = this.#deps.holds.settle({
      shard,
      holdId,
      chargeNusd,
      usedTokens: usage.promptTokens + usage.completionTokens,
      entry,
    });
    if (metered.excessNusd > 0n && served !== undefined) this.#deps.onExcess(served.route, metered.excessNusd);
    // Where it was not accepted the book keeps it and sends it again; waiting on would not make it sooner.
    await this.patience.wait(accepted);
    return metered;
  }

  #record(
    end: RequestEnd,
    served: Served | undefined,
    { usage, chargeNusd, estimated, waivable }: Metered,
  ): Settlement {
    const { accountRef, holdId, attempts } = this.#admission;
    const charged = chargeNusd > 0n || end === 'completed';
    return {
      v: 1,
      id: charged ? holdId : randomId(),
      kind: charged ? 'charge' : 'release',
      accountRef,
      chargeNusd: chargeNusd.toString(),
      at: Math.floor(this.#deps.now() / minuteMs) * minuteMs,
      operation: this.#operation,
      model: served?.route.modelId ?? attempts[0]?.modelId ?? '',
      provider: served?.route.publicProviderId ?? null,
      privacyClass: served?.route.privacyClass ?? null,
      promptTokens: usage.promptTokens,
      cachedTokens: usage.cachedTokens,
      completionTokens: usage.completionTokens,
      reasoningTokens: usage.reasoningTokens,
      attempts: this.attempts,
      fallback: this.attempts > 1,
      status: statuses[end],
      estimated,
      ...(waivable && charged ? { waivable } : {}),
    };
  }
}
