import { parseExact } from '@sotto/dialects';
import { type Nusd, nusdToUsd } from '@sotto/money';
import { asObject, type JsonObject, operationAt, ServiceError, sentStatus } from '@sotto/wire';
import { answerFrom, answerOfRefusal } from '../answer.ts';
import { savedByCaches } from '../bill/cache-savings.ts';
import { inexactPriceIn, type ListedPrice, readPrices } from '../bill/price-list.ts';
import type { Charge } from '../bill/read-bill.ts';
import { verifyCharge } from '../bill/verify-charge.ts';
import { ClientError } from '../errors.ts';
import { Fresh } from '../fresh.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import { type AskedRequest, askForModels, type Exchange, type ModelsAnswer } from '../private/private-exchange.ts';
import { chatBound } from './chat-bound.ts';
import { onePiece, rewritten } from './rewritten-answer.ts';
import { type StatedCost, watchingUsage } from './stated-usage.ts';

/** What a run has cost so far. */
export interface RunTotals {
  /** Requests that were served, or may have been. */
  readonly requests: number;
  /** As the service stated it. */
  readonly cost: Nusd;
  /** Those of them that have not stated their cost: they broke off, or still run. */
  readonly unstated: number;
  /** Answers by the privacy class of the route that served them. */
  readonly classes: ReadonlyMap<string, number>;
  /** Of answers that stated their usage. */
  readonly promptTokens: number;
  /** Those of them that came from a cache. */
  readonly cachedTokens: number;
  /** What the caches saved. Routes of unknown price count as nothing. */
  readonly saved: Nusd;
  /** Requests that were no chats: this meter does not count what they cost. */
  readonly uncounted: number;
}

export interface RunMeterOptions {
  readonly cap?: Nusd | undefined;
  /** For what caches saved, as long as the cap needs none. */
  readonly prices?: readonly ListedPrice[];
  /** Default: `Date.now`. */
  readonly now?: () => number;
  /** Called when a chat has stated what it cost. */
  readonly onCharge?: (charge: Charge, asked: AskedRequest) => void;
}

/**
 * Counts what the chats of one run cost. With a cap, it refuses a chat whose most expensive outcome would exceed the cap:
 * tickets do not tell what they reserve, so this computes a bound from the catalog's prices. Other requests have no such
 * bound here, nor have encrypted chats, so a run with a cap sends none. Prices may change during a run, so the list is read again
 * each minute, and at once after an answer that cost more than it says.
 */
export class RunMeter implements Exchange {
  readonly #exchange: Exchange;
  readonly #options: RunMeterOptions;
  readonly #cap: Nusd | undefined;
  readonly #prices: Fresh<readonly ListedPrice[] | ModelsAnswer>;
  /** The bounds of running chats, and of chats whose cost is not known. */
  #reserved = 0n;
  readonly #classes = new Map<string, number>();
  readonly #totals = {
    ...{ requests: 0, cost: 0n, unstated: 0, classes: this.#classes },
    ...{ promptTokens: 0, cachedTokens: 0, saved: 0n, uncounted: 0 },
  };

  constructor(exchange: Exchange, options: RunMeterOptions = {}) {
    this.#exchange = exchange;
    this.#options = options;
    this.#cap = options.cap;
    const { now = Date.now } = options;
    this.#prices = new Fresh({ read: () => pricesOf(exchange), now, freshMs: 60_000, retryMs: 0 });
  }

  get totals(): RunTotals {
    return this.#totals;
  }

  async ask(asked: AskedRequest): Promise<ContentAnswer> {
    const operation = asked.method === 'POST' ? operationAt(asked.path) : undefined;
    if (operation !== undefined && operation !== 'chat' && this.#cap !== undefined)
      return answerFrom(answerOfRefusal(new ServiceError('forbidden', { message: chatsOnly })));
    const body = operation === 'chat' ? asObject(parseExact(asked.body)) : undefined;
    if (body === undefined) {
      if (operation !== undefined && operation !== 'chat') this.#totals.uncounted += 1;
      return this.#exchange.ask(asked);
    }
    // The broker may charge more for an encrypted chat than for the same chat in clear.
    if (this.#cap !== undefined && asObject(body.provider)?.minimum_privacy === 'e2ee')
      return answerFrom(answerOfRefusal(new ServiceError('forbidden', { message: clearOnly })));
    const prices = this.#cap === undefined ? [] : await this.#prices.read();
    if ('text' in prices) {
      this.#prices.expire();
      return rewritten(prices, onePiece(prices.text));
    }
    const bound = this.#cap === undefined ? 0n : chatBound(asked.body, body, prices);
    // Nothing was sent yet, so a caller that left meanwhile counts for nothing.
    asked.signal.throwIfAborted();
    if (this.#cap !== undefined) {
      const left = this.#cap - this.#totals.cost - this.#reserved;
      if (bound > left) return answerFrom(answerOfRefusal(aboveCap(this.#cap, left, bound)));
    }
    this.#reserved += bound;
    // Until it states its cost. The run may end before an answer does, or begins.
    this.#totals.requests += 1;
    this.#totals.unstated += 1;
    const forget = (): void => {
      this.#reserved -= bound;
      this.#totals.requests -= 1;
      this.#totals.unstated -= 1;
    };
    const hidesUsage = body.stream === true && asObject(body.stream_options)?.include_usage !== true;
    const sent = hidesUsage ? { ...asked, body: withUsage(body) } : asked;
    let stated: StatedCost | undefined;
    try {
      const answer = await this.#exchange.ask(sent);
      if (answer.status !== 200) {
        // The service does not charge a request that it refuses. This status says that its answer was lost.
        if (answer.status !== sentStatus) forget();
        return answer;
      }
      const headers = new Map(answer.headers);
      const name = headers.get('x-router-privacy-class') ?? 'unknown';
      this.#classes.set(name, (this.#classes.get(name) ?? 0) + 1);
      return watchingUsage(answer, {
        isStream: body.stream === true,
        hidesUsage,
        onStated: (cost) => {
          stated = cost;
        },
        onEnd: () => {
          if (stated === undefined) return;
          this.#totals.unstated -= 1;
          this.#reserved -= bound;
          this.#totals.cost += stated.cost;
          if (stated.charge === undefined) return;
          const provider = headers.get('x-router-provider');
          this.#count({ ...stated.charge, provider, privacyClass: headers.get('x-router-privacy-class') }, asked);
        },
      });
    } catch (error) {
      // Only these say that no content has left. Any other request may be charged, so its bound stays reserved.
      if (error instanceof ClientError) forget();
      throw error;
    }
  }

  #count(charge: Charge, asked: AskedRequest): void {
    this.#totals.promptTokens += charge.promptTokens;
    this.#totals.cachedTokens += charge.cachedTokens;
    const { known } = this.#prices;
    const prices = known === undefined || 'text' in known ? (this.#options.prices ?? []) : known;
    if (this.#cap !== undefined && isDearer(charge, prices)) this.#prices.expire();
    this.#totals.saved += savedByCaches(charge, prices) ?? 0n;
    this.#options.onCharge?.(charge, asked);
  }
}

/** Whether a charge shows that the prices have changed since the list was read. */
const isDearer = (charge: Charge, prices: readonly ListedPrice[]): boolean =>
  ['above', 'unknown'].includes(verifyCharge(charge, prices).result);

/** Returns a refusal of the control origin unchanged. Throws `control_unreachable` if there are no prices for another reason. */
async function pricesOf(exchange: Exchange): Promise<readonly ListedPrice[] | ModelsAnswer> {
  const answer = await askForModels(exchange);
  if (answer.status >= 400 && answer.status < 500) return answer;
  const { list } = answer;
  const inexact = inexactPriceIn(list);
  if (inexact !== undefined) throw new ServiceError('forbidden', { message: unbounded(inexact) });
  const listed = readPrices(list);
  // Without prices, every bound would be 0 and the cap would stop nothing.
  if (listed === undefined || listed.prices.length === 0) throw new ClientError('control_unreachable');
  return listed.prices;
}

const usd = (amount: Nusd): string => `$${nusdToUsd(amount < 0n ? 0n : amount).toFixed(4)}`;

const aboveCap = (cap: Nusd, left: Nusd, bound: Nusd): ServiceError =>
  new ServiceError('insufficient_balance', {
    message:
      `This run may cost ${usd(cap)} (--max-cost). ${usd(left)} of that is left, and this request could cost up to ` +
      `${usd(bound)}. Start the run again with a higher --max-cost.`,
  });

const unbounded = (reason: string): string =>
  `--max-cost cannot bound what a chat costs: ${reason}. Tell the operator, or start the run again without --max-cost.`;

const chatsOnly =
  'This run has a cap (--max-cost), and only the cost of chats can be bounded before they are sent. ' +
  'Start the run again without --max-cost.';

const clearOnly =
  'This run has a cap (--max-cost), and what an encrypted chat (minimum_privacy "e2ee") costs cannot be bounded. ' +
  'Start the run again without --max-cost, or ask without encryption.';

const withUsage = (body: JsonObject): string =>
  JSON.stringify({ ...body, stream_options: { ...asObject(body.stream_options), include_usage: true } });
