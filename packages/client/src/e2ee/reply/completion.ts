import { ClientError } from '../../errors.ts';
import type { TextChat } from '../text-chat.ts';

/** The place of a protected string in a reply. Families authenticate it with the ciphertext. */
export interface FieldPlace {
  readonly holder: 'message' | 'delta';
  readonly field: 'content' | 'reasoning' | 'reasoning_content' | 'refusal';
  readonly choice: number;
  /** `id` and `model` of the reply as they came; empty if they are not strings. */
  readonly id: string;
  readonly model: string;
}

/** How to read the reply to one request. */
export interface ReplyReading {
  /** The model name to show: the one that the caller used. */
  readonly model: string;
  readonly includeUsage: boolean;
  /** Returns the text of a protected string. It is never called with an empty string, which holds no content. */
  openField(value: string, place: FieldPlace): Promise<string>;
  /** Whether the fields around the protected strings are authenticated, too, because the whole body was encrypted. */
  readonly isAuthentic: boolean;
}

/** How to read a reply whose whole body was encrypted. */
export const wholeBodyReading = ({ model, stream, includeUsage }: TextChat): ReplyReading => ({
  model,
  includeUsage: includeUsage || !stream,
  openField: async (text) => text,
  isAuthentic: true,
});

interface Choice {
  readonly index: 0;
  readonly finish_reason: string | null;
  readonly message?: Readonly<Record<string, string | null>>;
  /** Only beside a message, where OpenAI's schema requires it. */
  readonly logprobs?: null;
  readonly delta?: Readonly<Record<string, string | null>>;
}

/** A decrypted completion, or one chunk of a stream, in the shape of this service. */
export interface OpenCompletion {
  readonly id: string;
  readonly object: 'chat.completion' | 'chat.completion.chunk';
  readonly created: number;
  readonly model: string;
  readonly system_fingerprint: '';
  readonly choices: readonly Choice[];
  readonly usage?: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

export const protectedFields = ['content', 'reasoning', 'reasoning_content', 'refusal'] as const;
const finishReasons: readonly unknown[] = ['stop', 'length', 'content_filter'];

/**
 * Opens one completion or chunk. The result is rebuilt from the opened strings and a few fields of fixed form; no other
 * received value gets through. It fails closed: plaintext content is an error, whatever the name of its field.
 */
export async function openCompletion(
  value: unknown,
  holder: FieldPlace['holder'],
  reading: ReplyReading,
): Promise<OpenCompletion> {
  const fields = asFields(value);
  if (fields.error !== undefined && fields.error !== null) throw new ClientError('e2ee_provider_failed');
  const { choices } = fields;
  // The request asked for one choice. A chunk with only the usage has no choice.
  if (!Array.isArray(choices) || choices.length > 1) throw malformed();
  const id = typeof fields.id === 'string' ? fields.id : '';
  const model = typeof fields.model === 'string' ? fields.model : '';
  const usage = reading.includeUsage ? readUsage(fields.usage) : undefined;
  const [choice] = choices as readonly unknown[];
  return {
    // Receipts are requested by this id. A value in another form could carry anything, so it is dropped.
    id: /^[\w.:-]{0,128}$/.test(id) ? id : '',
    object: holder === 'delta' ? 'chat.completion.chunk' : 'chat.completion',
    created: Number.isSafeInteger(fields.created) ? (fields.created as number) : 0,
    model: reading.model,
    system_fingerprint: '',
    choices: choice === undefined ? [] : [await openChoice(asFields(choice), { holder, id, model }, reading)],
    ...(usage === undefined ? {} : { usage }),
  };
}

async function openChoice(
  choice: Fields,
  context: Pick<FieldPlace, 'holder' | 'id' | 'model'>,
  reading: ReplyReading,
): Promise<Choice> {
  const { index = 0, finish_reason: finish = null, logprobs } = choice;
  if (index !== 0 || !(finish === null || finishReasons.includes(finish))) throw malformed();
  // Log probabilities spell the answer out, and the request did not ask for them.
  if (!isEmpty(logprobs) && !reading.isAuthentic) throw notEncrypted();
  const { text } = choice;
  if (!isEmpty(text) && !reading.isAuthentic) throw notEncrypted();
  const opened = await openMessage(asFields(choice[context.holder] ?? {}), { ...context, choice: 0 }, reading);
  const said = { index: 0, finish_reason: finish as string | null } as const;
  return context.holder === 'delta' ? { ...said, delta: opened } : { ...said, message: opened, logprobs: null };
}

async function openMessage(
  message: Fields,
  place: Omit<FieldPlace, 'field'>,
  reading: ReplyReading,
): Promise<Record<string, string | null>> {
  for (const [name, value] of Object.entries(message)) {
    if (name === 'role' ? value !== 'assistant' && !isEmpty(value) : !isProtected(name) && !isEmpty(value)) {
      if (!reading.isAuthentic) throw notEncrypted();
    }
  }
  const opened: Partial<Record<FieldPlace['field'], string>> = {};
  for (const field of protectedFields) {
    const value = message[field];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') throw notEncrypted();
    opened[field] = value === '' ? '' : await reading.openField(value, { ...place, field });
  }
  // Readers know reasoning under one name or the other.
  const thought = opened.reasoning ?? opened.reasoning_content;
  if (thought !== undefined) opened.reasoning = opened.reasoning_content = thought;
  return place.holder === 'message' ? { role: 'assistant', content: null, refusal: null, ...opened } : { ...opened };
}

/** Token counts of a reply: numbers under known names, as the provider states them. Undefined if there are none. */
function readUsage(value: unknown): Record<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const usage = value as Fields;
  const details = (name: string, count: string): Record<string, unknown> => {
    const inner = usage[name];
    const counted = typeof inner === 'object' && inner !== null ? counts(inner as Fields, [count]) : {};
    return Object.keys(counted).length === 0 ? {} : { [name]: counted };
  };
  const totals = counts(usage, ['prompt_tokens', 'completion_tokens', 'total_tokens']);
  if (Object.keys(totals).length === 0) return undefined;
  return {
    ...totals,
    ...details('prompt_tokens_details', 'cached_tokens'),
    ...details('completion_tokens_details', 'reasoning_tokens'),
  };
}

const counts = (fields: Fields, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const count = fields[name];
      return Number.isSafeInteger(count) && (count as number) >= 0 ? [[name, count]] : [];
    }),
  );

function asFields(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed();
  return value as Fields;
}

const isProtected = (name: string): boolean => (protectedFields as readonly string[]).includes(name);

/** Absent, null, or an empty string, list or object: a value without content. */
const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);

const malformed = (): ClientError => new ClientError('e2ee_reply_malformed');
const notEncrypted = (): ClientError => new ClientError('e2ee_reply_not_encrypted');
