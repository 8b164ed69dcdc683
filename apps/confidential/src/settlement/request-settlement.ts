import { type Metered, meter, noUsage, type Price, type RequestEnd } from '@sotto/money';
import { type AttemptOutcome, attemptErrorOf, type Route } from '@sotto/router';
import { randomId } from '@sotto/server';
import { type HoldBook, type Settlement, signSettlement, type ToldSettlement } from '@sotto/state';
import { firstTokenBoundsMs } from '@sotto/wire';
import type { Admission } from '../admission/admit.ts';
import { quietTokens } from '../admission/quiet.ts';
import type { Served } from './served.ts';

export interface SettlementDependencies {
  readonly holds: HoldBook;
  readonly macKey: Buffer;
  readonly now: () => number;
  readonly onExcess: (route: Route, excessNusd: bigint) => void;
}

/** A charge and everything that it was computed from. */
export interface RequestBill extends Pick<Metered, 'usage' | 'chargeNusd' | 'estimated'> {
  readonly price: Price;
  readonly catalogDigest: string;
}

const minuteMs = 60_000;
type Failure = Pick<ToldSettlement, 'status' | 'error'>;
const cancelled: Failure = { status: 'cancelled', error: 'cancelled' };
const failures: Record<Exclude<RequestEnd, 'completed' | 'no_output'>, Failure> = {
  client_left: cancelled,
  provider_broke: { status: 'failed', error: 'provider' },
  provider_broke_while_held_back: cancelled,
  total_time_ran_out: { status: 'failed', error: 'timeout' },
  shut_down: { status: 'failed', error: 'timeout' },
  shut_down_while_held_back: cancelled,
  answer_too_large: { status: 'failed', error: 'request' },
  client_left_before_output: cancelled,
};

/**
 * Does the work that a hold was placed for, and settles the hold exactly once. If the work ends or throws without a
 * settlement, the hold is released here.
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

/**
 * The settlement of one admitted request. It happens once, however the request ends and however often `settle` is
 * called.
 */
export class RequestSettlement {
  readonly #deps: SettlementDependencies;
  readonly #admission: Admission;
  readonly #operation: ToldSettlement['operation'];
  /** Limits all waits before the end of the answer. */
  readonly patience = new Patience();
  #metered: Metered | undefined;
  #bill: RequestBill | undefined;
  attempts = 0;
  #failedAttempts: NonNullable<ToldSettlement['failedAttempts']> | undefined;
  /** The route of the last attempt. The row of a request without output names it. */
  lastTried: Route | undefined;
  /** Why the last attempt failed, if no output came. */
  noOutput: Exclude<ToldSettlement['error'], undefined> = 'provider';
  /** The class of the status of that failure. */
  providerStatus: ToldSettlement['providerStatus'];

  constructor(deps: SettlementDependencies, admission: Admission, operation: ToldSettlement['operation']) {
    this.#deps = deps;
    this.#admission = admission;
    this.#operation = operation;
  }

  get isSettled(): boolean {
    return this.#metered !== undefined;
  }

  /** The charge and what it was computed from. Undefined before the settlement, and if nothing was served. */
  get bill(): RequestBill | undefined {
    return this.#bill;
  }

  attemptFailed({ publicProviderId: provider }: Route, outcome: AttemptOutcome): void {
    this.#failedAttempts ??= [];
    this.#failedAttempts.push({ provider, error: attemptErrorOf(outcome) });
  }

  /**
   * Settles once. Resolves when the end of this process cannot lose the settlement, or patience has run out. A second call changes
   * nothing.
   */
  async settle(end: RequestEnd, served: Served | undefined): Promise<Metered> {
    if (this.#metered !== undefined) return this.#metered;
    const { holdNusd, shard, holdId, isQuiet } = this.#admission;
    const free: Metered = { usage: noUsage, chargeNusd: 0n, excessNusd: 0n, estimated: false, waivable: false };
    const metered = served === undefined ? free : meter({ price: served.route.price, ...served, end, holdNusd });
    // If nothing was tried, the hold is returned and the ledger has nothing to record.
    const entry =
      this.attempts === 0 ? undefined : signSettlement(this.#deps.macKey, this.#record(end, served, metered));
    const { catalogDigest } = this.#admission;
    const { usage, chargeNusd } = metered;
    const usedTokens = usage.promptTokens + usage.completionTokens;
    // Any step above may throw, and the hold is then released as unsettled. So none of them may change any state.
    this.#metered = metered;
    this.#bill = served && { ...metered, price: served.price ?? served.route.price, catalogDigest };
    const handedOver = this.#deps.holds.handOver({
      shard,
      holdId,
      chargeNusd,
      usedTokens: isQuiet ? quietTokens(usedTokens) : usedTokens,
      entry,
    });
    if (metered.excessNusd > 0n && served !== undefined) this.#deps.onExcess(served.route, metered.excessNusd);
    // If the state does not get it, the hold book sends it again. Waiting longer would not make that sooner.
    await this.patience.wait(handedOver);
    return metered;
  }

  #record(
    end: RequestEnd,
    served: Served | undefined,
    { usage, chargeNusd, estimated, waivable }: Metered,
  ): Settlement {
    const { accountRef, holdId, month, attempts, isQuiet } = this.#admission;
    const charged = chargeNusd > 0n || end === 'completed';
    const bookable = {
      id: charged ? holdId : randomId(),
      kind: charged ? ('charge' as const) : ('release' as const),
      accountRef,
      chargeNusd: chargeNusd.toString(),
      at: Math.floor(this.#deps.now() / minuteMs) * minuteMs,
      month,
    };
    if (isQuiet) return { v: 2, ...bookable };
    const route = served?.route ?? this.lastTried;
    return {
      v: 1,
      ...bookable,
      operation: this.#operation,
      model: route?.modelId ?? attempts[0]?.modelId ?? '',
      provider: route?.publicProviderId ?? null,
      privacyClass: route?.privacyClass ?? null,
      promptTokens: usage.promptTokens,
      cachedTokens: usage.cachedTokens,
      completionTokens: usage.completionTokens,
      reasoningTokens: usage.reasoningTokens,
      attempts: this.attempts,
      fallback: this.attempts > 1,
      ...this.#outcome(end),
      // The row itself says how the last attempt ended.
      ...(this.attempts > 1 ? { failedAttempts: this.#failedAttempts?.slice(0, this.attempts - 1) } : {}),
      ...(end === 'no_output' && this.providerStatus !== undefined ? { providerStatus: this.providerStatus } : {}),
      ...(served?.firstTokenMs === undefined ? {} : { firstToken: firstTokenClass(served.firstTokenMs) }),
      estimated,
      ...(waivable && charged ? { waivable } : {}),
    };
  }

  #outcome(end: RequestEnd): Failure {
    if (end === 'completed') return { status: 'completed' };
    return end === 'no_output' ? { status: 'failed', error: this.noOutput } : failures[end];
  }
}

/** Returns how many of the bounds a time exceeds. */
const firstTokenClass = (ms: number): number => firstTokenBoundsMs.filter((bound) => ms > bound).length;

/** The most that the end of a finished answer waits for its settlement and its receipt. */
export const patienceMs = 250;

/** The patience of one answer: all its waits together take no longer than this. */
export class Patience {
  #leftMs = patienceMs;

  /** Resolves when a task is over, however it ended, or when patience has run out. */
  async wait(task: Promise<unknown>): Promise<void> {
    const begunAt = performance.now();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#leftMs);
      const over = (): void => {
        clearTimeout(timer);
        resolve();
      };
      task.then(over, over);
    });
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - begunAt));
  }
}
