import type { ReportedUsage } from '../adapter.ts';
import { asCount, asObject, type JsonObject } from '../json.ts';
import { reportedUsage } from '../translate/reported-usage.ts';

/**
 * Reads the `usage` of a message. Its `input_tokens` are what came neither from the cache nor went into it.
 * In a stream the last `message_delta` counts, which may leave out what `message_start` said: `before` has that.
 */
export function readMessagesUsage(value: unknown, before: unknown = undefined): ReportedUsage | undefined {
  const raw: JsonObject = { ...asObject(before), ...known(asObject(value)) };
  const input = asCount(raw.input_tokens);
  const completion = asCount(raw.output_tokens);
  if (input === undefined || completion === undefined) return undefined;
  const cached = asCount(raw.cache_read_input_tokens) ?? 0;
  const cacheWrite = asCount(raw.cache_creation_input_tokens) ?? 0;
  const reasoning = asCount(asObject(raw.output_tokens_details)?.thinking_tokens);
  return reportedUsage({ prompt: input + cached + cacheWrite, cached, cacheWrite, completion, reasoning });
}

const known = (raw: JsonObject = {}): JsonObject =>
  Object.fromEntries(Object.entries(raw).filter(([, value]) => value != null));
