import * as z from 'zod';
import { maxContentBytes } from './content-bounds.ts';
import { modelIdField, modelNote } from './model-ids.ts';
import { providerNote, providerPolicySchema } from './provider-policy.ts';

const maxEmbeddingInputs = 2048;
/** More tokens in one input than any model reads. */
const maxTokens = 1_000_000;
const largestToken = 4_294_967_295;

/** One text, several texts, one token array, or several token arrays. */
type EmbeddingsInput = string | string[] | number[] | number[][];

/** Number of vectors that an input produces. */
export function countEmbeddingInputs(input: EmbeddingsInput): number {
  if (typeof input === 'string') return 1;
  return typeof input[0] === 'number' ? 1 : input.length;
}

interface Fault {
  readonly path: readonly number[];
  readonly message: string;
}

/**
 * The field `input` of an embeddings request. Its first entry selects the form, and the first entry that does not fit is the
 * error. A union of array schemas would collect an issue for each of a million tokens.
 */
const embeddingsInputSchema = z.unknown().transform((value, context): EmbeddingsInput => {
  const fault = faultOf(value);
  // Every entry was checked just above.
  if (fault === undefined) return value as EmbeddingsInput;
  context.addIssue({ code: 'custom', path: [...fault.path], message: fault.message });
  return z.NEVER;
});

const forms = `a text, up to ${maxEmbeddingInputs} texts, a token array, or up to ${maxEmbeddingInputs} token arrays`;

function faultOf(value: unknown): Fault | undefined {
  if (typeof value === 'string') return textFault(value, []);
  if (!Array.isArray(value)) return { path: [], message: `must be ${forms}` };
  const [first] = value;
  if (value.length === 0) return { path: [], message: `must not be empty: it takes ${forms}` };
  if (typeof first === 'number') return tokensFault(value, []);
  if (value.length > maxEmbeddingInputs) {
    return { path: [], message: `must hold at most ${maxEmbeddingInputs} inputs; send the others in another request` };
  }
  if (typeof first === 'string') return firstFault(value, textFault);
  if (Array.isArray(first)) return firstFault(value, tokensFault);
  return { path: [0], message: 'must be a text, a token or a token array' };
}

function firstFault(
  entries: readonly unknown[],
  judge: (entry: unknown, path: readonly number[]) => Fault | undefined,
): Fault | undefined {
  for (const [index, entry] of entries.entries()) {
    const fault = judge(entry, [index]);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function textFault(value: unknown, path: readonly number[]): Fault | undefined {
  if (typeof value !== 'string') return { path, message: 'must be a text, as the first input is' };
  return value === '' ? { path, message: 'must not be an empty text' } : undefined;
}

function tokensFault(value: unknown, path: readonly number[]): Fault | undefined {
  if (!Array.isArray(value)) return { path, message: 'must be a token array, as the first input is' };
  if (value.length === 0) return { path, message: 'must not be an empty token array' };
  if (value.length > maxTokens) return { path, message: `must be at most ${maxTokens} tokens long` };
  const index = value.findIndex((token) => !isToken(token));
  if (index === -1) return undefined;
  return { path: [...path, index], message: `must be a token: an integer from 0 to ${largestToken}` };
}

const isToken = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= largestToken;

const text = { type: 'string', minLength: 1, maxLength: maxContentBytes };
const tokens = {
  type: 'array',
  minItems: 1,
  maxItems: maxTokens,
  items: { type: 'integer', minimum: 0, maximum: largestToken },
};
const listOf = (items: object) => ({ type: 'array', minItems: 1, maxItems: maxEmbeddingInputs, items });

/** The forms of `input` as JSON schema, which the check above does not have. */
const describedInput = {
  description: 'A text, up to 2048 texts, a token array, or up to 2048 token arrays.',
  anyOf: [text, listOf(text), tokens, listOf(tokens)],
};

/** Body of `POST /embeddings`, in OpenAI's form. Other fields, such as `user`, are dropped. */
export const embeddingsRequestSchema = z.object({
  model: modelIdField.describe(modelNote),
  input: embeddingsInputSchema.meta(describedInput),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).max(65_536).nullish(),
  provider: providerPolicySchema.nullish().describe(providerNote),
});
export type EmbeddingsRequest = z.infer<typeof embeddingsRequestSchema>;
