import { type Nusd, usdToNusd } from '@sotto/money';
import { parseJson } from '@sotto/wire';
import * as z from 'zod';

/** One charge and the usage that it covers. */
export interface Charge {
  /** The id of its usage row, or of its answer. */
  readonly id: string;
  readonly operation: string;
  readonly model: string;
  /** Undefined if the bill does not name it. */
  readonly provider: string | undefined;
  readonly privacyClass: string | undefined;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** Undefined if the bill does not count them. */
  readonly cacheWriteTokens: number | undefined;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  readonly chargeNusd: Nusd;
  /** Whether the service counted the tokens itself, because the provider reported none. */
  readonly estimated: boolean;
  /** The broker's receipt of it, unverified. Undefined if the bill does not have it. */
  readonly receipt?: unknown;
}

const count = z.int().min(0);
const cost = z.number().transform((usd, context) => {
  const nusd = usdToNusd(usd);
  if (nusd !== undefined) return nusd;
  context.addIssue({ code: 'custom', message: 'must be an amount of at most nine decimals' });
  return z.NEVER;
});

const usagePageSchema = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      operation: z.string(),
      model: z.string(),
      provider: z.string().nullable(),
      privacy_class: z.string().nullable(),
      prompt_tokens: count,
      cached_tokens: count,
      cache_write_tokens: count.nullish(),
      completion_tokens: count,
      reasoning_tokens: count,
      cost,
      estimated: z.boolean(),
      receipt: z.unknown().optional(),
    }),
  ),
  next_cursor: z.string().nullish(),
});

const answerSchema = z.object({
  id: z.string(),
  model: z.string(),
  usage: z.object({
    prompt_tokens: count,
    completion_tokens: count.optional(),
    prompt_tokens_details: z.object({ cached_tokens: count.nullish(), cache_write_tokens: count.nullish() }).nullish(),
    completion_tokens_details: z.object({ reasoning_tokens: count.nullish() }).nullish(),
    cost,
  }),
});

export interface Bill {
  readonly charges: readonly Charge[];
  /** Whether there are pages after this one. */
  readonly hasMore: boolean;
}

/** Reads a page of `GET /usage`, or one answer with its `usage`. Returns a sentence about the problem if it is neither. */
export function readBill(text: string): Bill | string {
  const value = parseJson(text);
  if (value === undefined) return 'it is not valid JSON';
  const isPage = typeof value === 'object' && value !== null && 'data' in value;
  const parsed = isPage ? usagePageSchema.safeParse(value) : answerSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const what = isPage ? 'a page of GET /v1/usage' : 'an answer with its usage';
    return `not a bill: as ${what}, \`${issue?.path.map(String).join('.') ?? ''}\` is wrong (${issue?.message ?? ''})`;
  }
  if (!('data' in parsed.data)) return { charges: [ofAnswer(parsed.data)], hasMore: false };
  const { data, next_cursor: next } = parsed.data;
  return { charges: data.map(ofRow), hasMore: typeof next === 'string' };
}

/** Reads one answer with its `usage`. Undefined if it is none. */
export function readAnswerCharge(value: unknown): Charge | undefined {
  const parsed = answerSchema.safeParse(value);
  return parsed.success ? ofAnswer(parsed.data) : undefined;
}

const ofRow = (row: z.infer<typeof usagePageSchema>['data'][number]): Charge => ({
  id: row.id,
  operation: row.operation,
  model: row.model,
  provider: row.provider ?? undefined,
  privacyClass: row.privacy_class ?? undefined,
  promptTokens: row.prompt_tokens,
  cachedTokens: row.cached_tokens,
  cacheWriteTokens: row.cache_write_tokens ?? undefined,
  completionTokens: row.completion_tokens,
  reasoningTokens: row.reasoning_tokens,
  chargeNusd: row.cost,
  estimated: row.estimated,
  receipt: row.receipt,
});

const ofAnswer = ({ id, model, usage }: z.infer<typeof answerSchema>): Charge => ({
  id,
  operation: 'chat',
  model,
  provider: undefined,
  privacyClass: undefined,
  promptTokens: usage.prompt_tokens,
  cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
  cacheWriteTokens: usage.prompt_tokens_details?.cache_write_tokens ?? undefined,
  completionTokens: usage.completion_tokens ?? 0,
  reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  chargeNusd: usage.cost,
  estimated: false,
});
