import { ClientError } from '../errors.ts';

interface TextMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/**
 * A chat request reduced to the parts that end-to-end encryption carries: text, and settings that reveal nothing about
 * it.
 */
export interface TextChat {
  /** The model as the caller named it. The key has the enclave's own name for it. */
  readonly model: string;
  readonly messages: readonly TextMessage[];
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Sampling settings and the output limit. Each is a number or one of a few known words. */
  readonly settings: Readonly<Record<string, number | string>>;
}

type Fields = Readonly<Record<string, unknown>>;

const roles: readonly string[] = ['system', 'user', 'assistant'] satisfies TextMessage['role'][];
const numbers = ['temperature', 'top_p', 'seed', 'frequency_penalty', 'presence_penalty'];
const ceilings = ['max_tokens', 'max_completion_tokens'];
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
/** The ticket carries these settings of the service. The provider never gets them. */
const routing = ['provider'];
/** The service ignores these in a plaintext request, too (see docs/use/parameters.md). The client does not send them. */
const ignored = ['transforms', 'route', 'usage', 'plugins', 'logprobs', 'top_logprobs', 'logit_bias'];
/** Fields of an earlier reply that an assistant message may contain. Those in `droppable` are not sent again. */
const spokenBefore = [
  'reasoning',
  'reasoning_content',
  'annotations',
  'refusal',
  'audio',
  'tool_calls',
  'function_call',
];
const droppable = ['reasoning', 'reasoning_content', 'annotations'];

/**
 * Reads an OpenAI-shaped chat request for an end-to-end-encrypted route. It fails closed. It rejects any field that is
 * not known to be free of content, and any content other than text. Dropping such a field could give a wrong answer,
 * and sending it would reveal plaintext. `null` means absent.
 *
 * Throws `e2ee_request_invalid` or `e2ee_request_unsupported`, with the field's path.
 */
export function readTextChat(body: unknown): TextChat {
  const fields = present(asFields(body, ''));
  refuseUnknown(
    fields,
    ['model', 'messages', 'stream', 'stream_options', 'reasoning_effort', 'reasoning', 'n'].concat(
      numbers,
      ceilings,
      routing,
      ignored,
    ),
    '',
  );
  const { model, messages, stream = false, n = 1 } = fields;
  if (typeof model !== 'string' || model === '') throw invalid('model');
  if (!Array.isArray(messages) || messages.length === 0) throw invalid('messages');
  if (typeof stream !== 'boolean') throw invalid('stream');
  if (n !== 1) throw invalid('n');
  return {
    model,
    messages: withOneStart(messages.map((message: unknown, index) => readMessage(message, `messages.${index}`))),
    stream,
    includeUsage: readIncludeUsage(fields.stream_options),
    settings: readSettings(fields),
  };
}

/** Joins the system messages at the start, because chat templates of many models refuse a second one. */
function withOneStart(messages: readonly TextMessage[]): readonly TextMessage[] {
  const found = messages.findIndex(({ role }) => role !== 'system');
  const count = found === -1 ? messages.length : found;
  if (count < 2) return messages;
  const texts = messages.slice(0, count).map(({ content }) => content);
  return [{ role: 'system', content: texts.join('\n\n') }, ...messages.slice(count)];
}

function readMessage(message: unknown, path: string): TextMessage {
  const fields = present(asFields(message, path));
  refuseUnknown(fields, ['role', 'content', ...(fields.role === 'assistant' ? spokenBefore : [])], path);
  for (const name of spokenBefore) {
    const value = fields[name];
    if (value !== undefined && !droppable.includes(name) && !isEmpty(value)) throw unsupported(`${path}.${name}`);
  }
  // Not every model's template knows `developer`, and those that do treat both alike.
  const role = fields.role === 'developer' ? 'system' : fields.role;
  if (role === 'tool' || role === 'function') throw unsupported(`${path}.role`);
  if (!isRole(role)) throw invalid(`${path}.role`);
  return { role, content: readContent(fields.content, `${path}.content`) };
}

/** Reads text, or text parts. Parts are joined by line breaks, as vLLM does for templates that take strings. */
function readContent(content: unknown, path: string): string {
  if (typeof content === 'string') return wellFormed(content, path);
  if (!Array.isArray(content) || content.length === 0) throw invalid(path);
  const texts = content.map((part: unknown, index) => {
    const at = `${path}.${index}`;
    const fields = present(asFields(part, at));
    if (fields.type !== 'text') throw unsupported(at);
    refuseUnknown(fields, ['type', 'text'], at);
    if (typeof fields.text !== 'string') throw invalid(`${at}.text`);
    return wellFormed(fields.text, `${at}.text`);
  });
  return texts.join('\n');
}

/** Rejects lone surrogates. UTF-8 cannot encode them, so the encoder would change the user's text. */
function wellFormed(text: string, path: string): string {
  if (!text.isWellFormed()) throw invalid(path);
  return text;
}

function readSettings(fields: Fields): Record<string, number | string> {
  const settings: Record<string, number | string> = {};
  for (const name of [...numbers, ...ceilings]) {
    const value = fields[name];
    if (value === undefined) continue;
    if (typeof value !== 'number' || !Number.isFinite(value)) throw invalid(name);
    if (ceilings.includes(name) && !(Number.isSafeInteger(value) && value > 0)) throw invalid(name);
    settings[name] = value;
  }
  const { max_tokens: older, max_completion_tokens: newer } = settings;
  if (older !== undefined && newer !== undefined && older !== newer) throw invalid('max_completion_tokens');
  const effort = readEffort(fields);
  return effort === undefined ? settings : { ...settings, reasoning_effort: effort };
}

function readEffort(fields: Fields): string | undefined {
  const flat = fields.reasoning_effort;
  if (flat !== undefined && typeof flat !== 'string') throw invalid('reasoning_effort');
  const nested = fields.reasoning === undefined ? {} : present(asFields(fields.reasoning, 'reasoning'));
  refuseUnknown(nested, ['effort', 'enabled'], 'reasoning');
  const { effort: inner, enabled } = nested;
  if (inner !== undefined && typeof inner !== 'string') throw invalid('reasoning.effort');
  // The way to switch thinking off differs by model. Only the broker knows it, and the broker cannot read this request.
  if (enabled === false) throw unsupported('reasoning.enabled');
  if (enabled !== undefined && enabled !== true) throw invalid('reasoning.enabled');
  if (flat !== undefined && inner !== undefined && flat !== inner) throw invalid('reasoning.effort');
  const effort = flat ?? inner;
  if (effort !== undefined && !efforts.includes(effort)) throw invalid('reasoning_effort');
  return effort;
}

function readIncludeUsage(options: unknown): boolean {
  if (options === undefined) return false;
  const fields = present(asFields(options, 'stream_options'));
  refuseUnknown(fields, ['include_usage'], 'stream_options');
  const { include_usage: wanted = false } = fields;
  if (typeof wanted !== 'boolean') throw invalid('stream_options.include_usage');
  return wanted;
}

function asFields(value: unknown, path: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(path);
  return value as Fields;
}

const present = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));

function refuseUnknown(fields: Fields, known: readonly string[], path: string): void {
  for (const name of Object.keys(fields)) {
    if (known.includes(name)) continue;
    // A name that is not a plain identifier may be content itself, so the error names only its place.
    const shown = /^[A-Za-z_]\w{0,63}$/.test(name) ? name : undefined;
    throw unsupported([path, shown].filter((part) => part !== undefined && part !== '').join('.'));
  }
}

const isRole = (role: unknown): role is TextMessage['role'] => typeof role === 'string' && roles.includes(role);
const isEmpty = (value: unknown): boolean => value === '' || (Array.isArray(value) && value.length === 0);
const invalid = (param: string): ClientError => new ClientError('e2ee_request_invalid', param);
const unsupported = (param: string): ClientError => new ClientError('e2ee_request_unsupported', param);

/** The OpenAI-shaped body for an enclave. `extra` are fields of its family. */
export function sealedBody(chat: TextChat, model: string, extra: Readonly<Record<string, unknown>> = {}): string {
  const streaming = chat.stream ? { stream: true, stream_options: { include_usage: true } } : { stream: false };
  return JSON.stringify({ model, messages: chat.messages, ...chat.settings, ...streaming, ...extra });
}
