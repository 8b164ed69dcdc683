import { type ChatBody, unreadable } from './chat-body.ts';
import { asArray, asNumber, asObject, asString, type JsonObject } from './json.ts';
import { outputWithin } from './offered-model.ts';
import type { Models } from './translation.ts';

/** Reads the body of a request. Throws `invalid_request` if it is not an object. */
export function requestObject(value: unknown): JsonObject {
  const request = asObject(value);
  if (request === undefined) throw unreadable('The body must be a JSON object.');
  return request;
}

/** The fields that a dialect names in its own way. */
interface OwnFields {
  readonly maxTokens: unknown;
  readonly topK?: unknown;
  readonly stop?: unknown;
}

/** Reads the fields that a request has in common with a chat. Throws `invalid_request` if no model is named. */
export function commonFields(
  request: JsonObject,
  { maxTokens, topK, stop }: OwnFields,
  models: Models,
): Omit<ChatBody, 'messages'> {
  const stops = (asArray(stop) ?? []).filter((each) => typeof each === 'string');
  const name = asString(request.model);
  if (name === undefined || name === '') throw unreadable('`model` must be the id of a model.', 'model');
  const model = models.resolve(name);
  return {
    model,
    max_tokens: outputWithin(asNumber(maxTokens), models.find(model)),
    temperature: asNumber(request.temperature),
    top_p: asNumber(request.top_p),
    top_k: asNumber(topK),
    stop: stops.length === 0 ? undefined : stops,
    // Not of these dialects, but dropping it would send content where it forbids.
    ...(request.provider == null ? {} : { provider: request.provider as ChatBody['provider'] }),
    ...(request.stream === true ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

/**
 * The efforts that every model takes: the service picks the nearest level that the model has, or none if it does not
 * reason. Any other effort is refused unless the model lists it.
 */
const commonEfforts: ReadonlySet<unknown> = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);

/** Returns an effort that the service accepts for every model. Undefined for any other value. */
export const commonEffort = (effort: unknown): string | undefined =>
  commonEfforts.has(effort) ? (effort as string) : undefined;

/** Budgets in tokens below which thinking counts as a low and as a medium effort. Agents offer 4,000, 10,000 and 32,000. */
const lowBelow = 4096;
const mediumBelow = 16_384;

/** Returns the effort for a budget of tokens. The chat interface has no budgets. */
export function effortOfBudget(budget = mediumBelow): string {
  if (budget < lowBelow) return 'low';
  return budget < mediumBelow ? 'medium' : 'high';
}
