import type { TicketRequest } from '@sotto/wire';
import type { Ticket } from './control.ts';

export interface TicketPoolOptions {
  readonly mint: (request: TicketRequest, signal?: AbortSignal) => Promise<Ticket | Response>;
  /** Gets several tickets at once. */
  readonly mintSeveral: (request: TicketRequest, count: number) => Promise<readonly Ticket[] | Response>;
  readonly now: () => number;
  /** Number of tickets kept ready for requests of one kind; 0 keeps none. */
  readonly size: number;
}

export type TakenTicket = Ticket & { readonly isFresh: boolean };

/** The most kinds of request to keep tickets for. The least recently used kind is dropped first. */
const maxKinds = 32;
/** Time in ms that a ticket must remain valid, so that its request can still reach the broker. */
const marginMs = 20_000;

/** The most tickets that the service mints in one request. */
const maxTogether = 16;

/** Delay in ms before refilling, so that the request of the taken ticket goes first. */
const refillAfterMs = 25;

interface Kind {
  readonly ready: Ticket[];
  isFilling: boolean;
}

/**
 * Tickets fetched ahead. A request then need not wait for the control origin, and the time of a ticket reveals less
 * about the time of its request. Tickets are kept apart by everything that they bind. Each ticket is given out once.
 */
export class TicketPool {
  readonly #options: TicketPoolOptions;
  readonly #kinds = new Map<string, Kind>();
  /** Undefined until a refill has shown it: an earlier version of the service mints only one ticket per request. */
  #mintsSeveral: boolean | undefined;

  constructor(options: TicketPoolOptions) {
    this.#options = options;
  }

  /** Returns a ready or fresh ticket for this request, or the refusal of the control origin. */
  async take(request: TicketRequest, signal?: AbortSignal): Promise<TakenTicket | Response> {
    const key = JSON.stringify(request);
    const kind = this.#kinds.get(key) ?? { ready: [], isFilling: false };
    this.#kinds.delete(key);
    this.#kinds.set(key, kind);
    for (const oldest of this.#kinds.keys()) {
      if (this.#kinds.size <= maxKinds) break;
      this.#kinds.delete(oldest);
    }
    const found = this.#takeReady(kind);
    if (found !== undefined) {
      this.#fill(request, kind);
      return { ...found, isFresh: false };
    }
    const minted = await this.fresh(request, signal);
    if (!(minted instanceof Response)) this.#fill(request, kind);
    return minted;
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

  #takeReady({ ready }: Kind): Ticket | undefined {
    const usableFrom = this.#options.now() + marginMs;
    for (let ticket = ready.shift(); ticket !== undefined; ticket = ready.shift()) {
      if (ticket.expiresAt > usableFrom) return ticket;
    }
    return undefined;
  }

  /** Refills in the background. It ignores failures: the next request that mints a ticket reports them. */
  #fill(request: TicketRequest, kind: Kind): void {
    if (kind.isFilling || kind.ready.length >= this.#options.size) return;
    kind.isFilling = true;
    setTimeout(() => {
      this.#mintInto(request, kind).catch(() => {
        kind.isFilling = false;
      });
    }, refillAfterMs);
  }

  async #mintInto(request: TicketRequest, kind: Kind): Promise<void> {
    while (kind.ready.length < this.#options.size) {
      const minted = await this.#refill(request, this.#options.size - kind.ready.length);
      if (minted === undefined) break;
      kind.ready.push(...minted);
    }
    kind.isFilling = false;
  }

  /** Returns new tickets, or undefined if the service refuses them. */
  async #refill(request: TicketRequest, missing: number): Promise<readonly Ticket[] | undefined> {
    const { mint, mintSeveral } = this.#options;
    if (missing > 1 && this.#mintsSeveral !== false) {
      const minted = await mintSeveral(request, Math.min(missing, maxTogether));
      if (!(minted instanceof Response)) {
        this.#mintsSeveral = true;
        return minted;
      }
      await minted.body?.cancel();
      if (minted.status !== 400 || this.#mintsSeveral === true) return undefined;
      this.#mintsSeveral = false;
    }
    const minted = await mint(request);
    if (!(minted instanceof Response)) return [minted];
    await minted.body?.cancel();
    return undefined;
  }
}
