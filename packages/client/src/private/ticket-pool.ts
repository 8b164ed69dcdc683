import type { TicketRequest } from '@sotto/wire';
import type { Ticket } from './control.ts';

export interface TicketPoolOptions {
  readonly mint: (request: TicketRequest, signal?: AbortSignal) => Promise<Ticket | Response>;
  /** Gets several tickets at once. */
  readonly mintSeveral: (request: TicketRequest, count: number) => Promise<readonly Ticket[] | Response>;
  readonly now: () => number;
  /** The least number of tickets kept ready for requests of one kind; 0 keeps none. */
  readonly size: number;
  /** Returns a number from 0 to below 1. */
  readonly random: () => number;
  /** Calls back after a time in ms. The callback resolves when a pool is full, or has failed to be. It never rejects. */
  readonly schedule: (callback: () => Promise<unknown>, ms: number) => void;
}

export type TakenTicket = Ticket & { readonly isFresh: boolean };

/** Time in ms between refills. Longer hides more, and leaves more requests without a ready ticket. */
export const refillMs = 60_000;
/** The most kinds of request to keep tickets for. The least recently used kind is dropped first. */
const maxKinds = 32;
/** Time in ms that a ticket must remain valid, so that its request can still reach the broker. */
const marginMs = 20_000;
/** The most tickets that the service mints in one request. */
const maxTogether = 16;
/** The most tickets to keep for one kind, however many it needs. */
const maxReady = 64;

interface Kind {
  readonly request: TicketRequest;
  ready: Ticket[];
  /** Requests since the last refill. */
  taken: number;
  /** When its refills are, in ms after a full `refillMs` of the clock. */
  readonly phaseMs: number;
  isScheduled?: boolean;
  isFilling?: boolean;
}

/**
 * Tickets fetched ahead, apart by everything that they bind. Each is given out once. A request that finds one need not wait
 * for the control origin, and does not show it when it runs: refills have times of their own. Those of one kind fall on
 * every full `refillMs` after a random start. So one shows how many requests of its kind ran since the last one, and nothing
 * about when, or beside which other kind. Conversations that ask for the same are one kind, so control cannot count them.
 *
 * A request that finds no ticket gets one at once, which shows its time.
 */
export class TicketPool {
  readonly #options: TicketPoolOptions;
  readonly #kinds = new Map<string, Kind>();

  constructor(options: TicketPoolOptions) {
    this.#options = options;
  }

  /** Returns a ready or fresh ticket for this request, or the refusal of the control origin. */
  async take(request: TicketRequest, signal?: AbortSignal): Promise<TakenTicket | Response> {
    if (this.#options.size === 0) return this.fresh(request, signal);
    const kind = this.#kindOf(request);
    kind.taken += 1;
    this.#scheduleRefill(kind);
    const usableFrom = this.#options.now() + marginMs;
    for (let ticket = kind.ready.shift(); ticket !== undefined; ticket = kind.ready.shift()) {
      if (ticket.expiresAt > usableFrom) return { ...ticket, isFresh: false };
    }
    return this.fresh(request, signal);
  }

  /** Mints a ticket for this call. */
  async fresh(request: TicketRequest, signal?: AbortSignal): Promise<TakenTicket | Response> {
    const minted = await this.#options.mint(request, signal);
    return minted instanceof Response ? minted : { ...minted, isFresh: true };
  }

  /** Forgets the tickets of this kind. The broker refused one of them, so the others are probably invalid, too. */
  drop(request: TicketRequest): void {
    this.#kinds.delete(JSON.stringify(request));
  }

  #kindOf(request: TicketRequest): Kind {
    const key = JSON.stringify(request);
    const kind = this.#kinds.get(key) ?? { request, ready: [], taken: 0, phaseMs: this.#options.random() * refillMs };
    this.#kinds.delete(key);
    this.#kinds.set(key, kind);
    for (const oldest of this.#kinds.keys()) {
      if (this.#kinds.size <= maxKinds) break;
      this.#kinds.delete(oldest);
    }
    return kind;
  }

  #scheduleRefill(kind: Kind): void {
    if (kind.isScheduled) return;
    kind.isScheduled = true;
    const sinceLastMs = (this.#options.now() - kind.phaseMs) % refillMs;
    this.#options.schedule(async () => {
      kind.isScheduled = false;
      // A kind that was dropped needs none.
      if (this.#kinds.get(JSON.stringify(kind.request)) === kind) await this.#refill(kind);
    }, refillMs - sinceLastMs);
  }

  /** Refills a kind that was used since the last refill, for as many requests as came since then. */
  async #refill(kind: Kind): Promise<void> {
    if (kind.taken === 0 || kind.isFilling) return;
    const { now, size } = this.#options;
    // A ticket that expires before the next refill would leave a request without one.
    const neededUntil = now() + refillMs + marginMs;
    kind.ready = kind.ready.filter(({ expiresAt }) => expiresAt > neededUntil);
    const missing = Math.min(Math.max(size, kind.taken), maxReady) - kind.ready.length;
    kind.taken = 0;
    kind.isFilling = true;
    // Failures are ignored: the next request that mints a ticket reports them.
    await this.#mintInto(kind, missing).catch(() => undefined);
    kind.isFilling = false;
  }

  async #mintInto(kind: Kind, missing: number): Promise<void> {
    for (let left = missing; left > 0; ) {
      const minted = await this.#options.mintSeveral(kind.request, Math.min(left, maxTogether));
      if (minted instanceof Response) return minted.body?.cancel();
      kind.ready.push(...minted);
      left -= minted.length;
    }
  }
}
