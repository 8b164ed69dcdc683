import { Readable } from 'node:stream';
import { parseExact } from '@sotto/dialects';
import {
  allowance,
  asArray,
  asNumber,
  asObject,
  asObjects,
  asString,
  expandedSchemaBytes,
  hasReferences,
  type JsonObject,
  operationAt,
  parseJson,
  parseModelReference,
  ServiceError,
  SseParser,
  sentStatus,
} from '@sotto/wire';
import { answerFrom, answerOfRefusal } from '../answer.ts';
import { ClientError } from '../errors.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import { type AskedRequest, askForModels, type Exchange } from '../private/private-exchange.ts';

/** What a run has cost so far. */
export interface RunTotals {
  /** Requests that were served, or may have been. */
  readonly requests: number;
  /** USD, as the service stated it. */
  readonly cost: number;
  /** Those of them that have not stated their cost: they broke off, or still run. */
  readonly unstated: number;
  /** Answers by the privacy class of the route that served them. */
  readonly classes: ReadonlyMap<string, number>;
}

/**
 * Counts what the chats of one run cost. With a cap, it refuses a chat whose most expensive outcome would exceed the cap:
 * tickets do not tell what they reserve, so this computes a bound from the catalog's prices. Other requests have no such
 * bound here, so a run with a cap sends none.
 */
export class RunMeter implements Exchange {
  readonly #exchange: Exchange;
  readonly #capUsd: number | undefined;
  #prices: Promise<readonly ModelPrice[] | Response> | undefined;
  #requests = 0;
  #cost = 0;
  /** The bounds of running chats, and of chats whose cost is not known. */
  #reserved = 0;
  #unstated = 0;
  readonly #classes = new Map<string, number>();

  constructor(exchange: Exchange, capUsd?: number) {
    this.#exchange = exchange;
    this.#capUsd = capUsd;
  }

  get totals(): RunTotals {
    return { requests: this.#requests, cost: this.#cost, unstated: this.#unstated, classes: this.#classes };
  }

  async ask(asked: AskedRequest): Promise<ContentAnswer> {
    const operation = asked.method === 'POST' ? operationAt(asked.path) : undefined;
    if (operation !== undefined && operation !== 'chat' && this.#capUsd !== undefined)
      return answerFrom(answerOfRefusal(new ServiceError('forbidden', { message: chatsOnly })));
    const body = operation === 'chat' ? asObject(parseExact(asked.body)) : undefined;
    if (body === undefined) return this.#exchange.ask(asked);
    const prices = this.#capUsd === undefined ? [] : await this.#readPrices();
    if (prices instanceof Response) return answerFrom(prices.clone());
    const bound = this.#capUsd === undefined ? 0 : boundOf(asked.body, body, prices);
    // Nothing was sent yet, so a caller that left meanwhile counts for nothing.
    asked.signal.throwIfAborted();
    const left = (this.#capUsd ?? Number.POSITIVE_INFINITY) - this.#cost - this.#reserved;
    if (bound > left) return answerFrom(answerOfRefusal(aboveCap(this.#capUsd ?? 0, left, bound)));
    this.#reserved += bound;
    // Until it states its cost. The run may end before an answer does, or begins.
    this.#requests += 1;
    this.#unstated += 1;
    const forget = (): void => {
      this.#reserved -= bound;
      this.#requests -= 1;
      this.#unstated -= 1;
    };
    const hidesUsage = body.stream === true && asObject(body.stream_options)?.include_usage !== true;
    const sent = hidesUsage ? { ...asked, body: withUsage(body) } : asked;
    let stated: number | undefined;
    try {
      const answer = await this.#exchange.ask(sent);
      if (answer.status !== 200) {
        // The service does not charge a request that it refuses. This status says that its answer was lost.
        if (answer.status !== sentStatus) forget();
        return answer;
      }
      const name = answer.headers.find(([header]) => header === 'x-router-privacy-class')?.[1] ?? 'unknown';
      this.#classes.set(name, (this.#classes.get(name) ?? 0) + 1);
      const state = (cost: number): void => {
        stated = cost;
      };
      const close = (): void => {
        if (stated === undefined) return;
        this.#unstated -= 1;
        this.#reserved -= bound;
        this.#cost += stated;
      };
      const pieces = body.stream === true ? readStream(answer.body, state, hidesUsage) : readWhole(answer.body, state);
      return rewritten(answer, closing(pieces, close));
    } catch (error) {
      // Only these say that no content has left. Any other request may be charged, so its bound stays reserved.
      if (error instanceof ClientError) forget();
      throw error;
    }
  }

  /** Every chat waits for the same list, so the end of one must not end the reading. */
  #readPrices(): Promise<readonly ModelPrice[] | Response> {
    this.#prices ??= readPrices(this.#exchange).then(
      (prices) => {
        if (prices instanceof Response) this.#prices = undefined;
        return prices;
      },
      (error: unknown) => {
        this.#prices = undefined;
        throw error;
      },
    );
    return this.#prices;
  }
}

interface ModelPrice {
  readonly id: string;
  /** USD per token, of the dearest route. */
  readonly input: number;
  readonly output: number;
  readonly contextLength: number;
  readonly maxOutputTokens: number;
}

/** Returns a refusal of the control origin unchanged. Throws `control_unreachable` if there are no prices for another reason. */
async function readPrices(exchange: Exchange): Promise<readonly ModelPrice[] | Response> {
  const answer = (await askForModels(exchange)).toResponse();
  if (answer.status >= 400 && answer.status < 500) return answer;
  const listed = answer.ok ? asObject(parseJson(await answer.text())) : undefined;
  const prices = (asObjects(listed?.data) ?? []).flatMap((entry): ModelPrice[] => {
    const routes = asObjects(entry.provider_routes) ?? [];
    const id = asString(entry.id);
    if (id === undefined || routes.length === 0) return [];
    const dearest = (name: string): number =>
      Math.max(...routes.flatMap(({ pricing }) => pricesIn(asObject(pricing) ?? {}, name))) / 1e6;
    const context = asNumber(entry.context_length) ?? 1_000_000;
    return [
      {
        id,
        input: Math.max(dearest('input'), dearest('cached_input'), dearest('cache_write')),
        output: Math.max(dearest('output'), dearest('reasoning')),
        contextLength: context,
        maxOutputTokens: asNumber(entry.max_output_tokens) ?? context,
      },
    ];
  });
  // Without prices, every bound would be 0 and the cap would stop nothing.
  if (prices.length === 0) throw new ClientError('control_unreachable');
  return prices;
}

/** A price and its tiers for long prompts. */
const pricesIn = (pricing: JsonObject, name: string): number[] => [
  asNumber(pricing[name]) ?? 0,
  ...(asObjects(pricing.tiers) ?? []).map((tier) => asNumber(tier[name]) ?? 0),
];

/** The most that a chat in clear can cost, in USD, at the dearest model that it may reach. */
function boundOf(text: string, body: JsonObject, prices: readonly ModelPrice[]): number {
  const names = [body.model, ...(asArray(body.models) ?? [])];
  const named = names.map((name) => prices.find(({ id }) => id === parseModelReference(asString(name) ?? '').id));
  // Any other name, such as `/auto`, may reach every model.
  const reachable = named.every((model) => model !== undefined) ? named : prices;
  const asked = asNumber(body.max_completion_tokens) ?? asNumber(body.max_tokens);
  const prompt = promptTokensAtMost(text, body);
  const bounds = reachable.map(
    ({ input, output, contextLength, maxOutputTokens }) =>
      Math.min(prompt, contextLength) * input + Math.min(asked ?? maxOutputTokens, maxOutputTokens) * output,
  );
  return Math.max(0, ...bounds);
}

/** Each byte may be a token. What providers add to a chat, the service reserves by the same numbers. */
function promptTokensAtMost(text: string, body: JsonObject): number {
  const messages = asObjects(body.messages) ?? [];
  const images = messages.flatMap(({ content }) => asObjects(content) ?? []).filter(({ type }) => type === 'image_url');
  const tools = asObjects(body.tools) ?? [];
  const format = asObject(body.response_format);
  const schemas = [asObject(format?.json_schema)?.schema, ...tools.map((tool) => asObject(tool.function)?.parameters)];
  const referring = schemas.filter((schema) => hasReferences(JSON.stringify(schema) ?? ''));
  return (
    Buffer.byteLength(text) +
    referring.reduce<number>((sum, schema) => sum + expandedSchemaBytes(schema), 0) +
    allowance.request +
    messages.length * allowance.message +
    tools.length * allowance.tool +
    (tools.length > 0 ? allowance.toolUse : 0) +
    (format === undefined ? 0 : allowance.format) +
    images.length * allowance.image
  );
}

const usd = (amount: number): string => `$${Math.max(0, amount).toFixed(4)}`;

const aboveCap = (cap: number, left: number, bound: number): ServiceError =>
  new ServiceError('insufficient_balance', {
    message:
      `This run may cost ${usd(cap)} (--max-cost). ${usd(left)} of that is left, and this request could cost up to ` +
      `${usd(bound)}. Start the run again with a higher --max-cost.`,
  });

const chatsOnly =
  'This run has a cap (--max-cost), and only the cost of chats can be bounded before they are sent. ' +
  'Start the run again without --max-cost.';

const withUsage = (body: JsonObject): string =>
  JSON.stringify({ ...body, stream_options: { ...asObject(body.stream_options), include_usage: true } });

const costOf = (value: unknown): number | undefined => asNumber(asObject(asObject(value)?.usage)?.cost);

async function* readWhole(
  pieces: AsyncIterable<Uint8Array>,
  state: (cost: number) => void,
): AsyncGenerator<Uint8Array> {
  const read: Uint8Array[] = [];
  for await (const piece of pieces) {
    read.push(piece);
    yield piece;
  }
  const cost = costOf(parseJson(Buffer.concat(read).toString('utf8')));
  if (cost !== undefined) state(cost);
}

/** Passes the events on. Leaves out the usage if the tool did not ask for it: some cannot read an event without a choice. */
async function* readStream(
  pieces: AsyncIterable<Uint8Array>,
  state: (cost: number) => void,
  hidesUsage: boolean,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  let events: string[] = [];
  const parser = new SseParser({
    onEvent(event) {
      // Most events have no usage, and need not be parsed.
      const cost = event.includes('"cost"') ? costOf(parseJson(event)) : undefined;
      if (cost !== undefined) state(cost);
      if (cost === undefined || !hidesUsage) events.push(event);
    },
  });
  for await (const piece of pieces) {
    parser.push(decoder.decode(piece, { stream: true }));
    if (!hidesUsage) yield piece;
    else if (events.length > 0) yield encoder.encode(events.map((event) => `data: ${event}\n\n`).join(''));
    events = [];
  }
  parser.end();
  if (hidesUsage && events.length > 0) yield encoder.encode(events.map((event) => `data: ${event}\n\n`).join(''));
}

async function* closing(pieces: AsyncIterable<Uint8Array>, close: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces;
  } finally {
    close();
  }
}

/** The answer with another body. */
function rewritten({ status, headers }: ContentAnswer, body: AsyncIterable<Uint8Array>): ContentAnswer {
  const kept = headers.filter(([name]) => name !== 'content-length');
  return {
    status,
    headers: kept,
    body,
    toResponse() {
      const init = { status, headers: kept.map(([name, value]): [string, string] => [name, value]) };
      return new Response(Readable.toWeb(Readable.from(body)) as ReadableStream<Uint8Array>, init);
    },
  };
}
