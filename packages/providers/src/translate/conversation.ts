import {
  type ChatRequest,
  type ExactBudget,
  exactBudget,
  isJsonWithinDepth,
  type Message,
  maxJsonDepth,
  parseExactJson,
  type ReasoningDetail,
} from '@sotto/wire';
import type { UnsupportedRequest } from '../adapter.ts';
import { asObject, type JsonObject } from '../json.ts';
import { plainIds, withCallIds } from './call-ids.ts';
import { registeredMediaType } from './media-types.ts';
import { mergeDetails } from './reasoning-details.ts';

/** A block of a user turn. `cached`: the provider may cache the prompt up to here. */
export type UserBlock =
  | { readonly kind: 'text'; readonly text: string; readonly cached: boolean }
  | { readonly kind: 'image'; readonly source: ImageSource; readonly cached: boolean; readonly param: string }
  | {
      readonly kind: 'tool_result';
      readonly callId: string;
      /** The name of the called function. */
      readonly name: string;
      readonly text: string;
      readonly cached: boolean;
    };

/** A block of an assistant turn, in the order of OpenAI's shape. */
export type AssistantBlock =
  | { readonly kind: 'reasoning'; readonly detail: ReturnableDetail }
  | { readonly kind: 'text'; readonly text: string; readonly cached: boolean }
  | { readonly kind: 'tool_call'; readonly id: string; readonly name: string; readonly input: JsonObject };

/** A detail that its provider accepts back: it refuses a thought without its signature. */
type ReturnableDetail =
  | Extract<ReasoningDetail, { type: 'reasoning.encrypted' }>
  | (Extract<ReasoningDetail, { type: 'reasoning.text' }> & { readonly signature: string });

const isReturnable = (detail: ReasoningDetail): detail is ReturnableDetail =>
  detail.type === 'reasoning.encrypted' || (detail.type === 'reasoning.text' && detail.signature != null);

type TextBlock = Extract<UserBlock, { kind: 'text' }>;

export type Turn =
  | { readonly role: 'user'; readonly blocks: UserBlock[] }
  | { readonly role: 'assistant'; readonly blocks: AssistantBlock[] };

/** A conversation for APIs with a system prompt and alternating turns of two sides. */
export interface Conversation {
  readonly system: readonly TextBlock[];
  readonly turns: readonly Turn[];
}

/**
 * Reads messages as alternating turns. System and developer messages at the start are the system prompt. Later ones become
 * reminders of the user's side. In the system prompt, each of them would change the start of the request, and the
 * provider's cache would hold nothing of what follows. Tool results belong to the user's side, too. Blocks without text are dropped, because those APIs refuse them.
 *
 * @param formats - The formats of reasoning details that the provider accepts. Others are dropped.
 */
export function readConversation(
  given: ChatRequest['messages'],
  formats: readonly string[],
): Conversation | UnsupportedRequest {
  const messages = withCallIds(given, plainIds);
  const system: TextBlock[] = [];
  const merged: Turn[] = [];
  const calls = new Map<string, string>();
  const exact = exactBudget();
  for (const [index, message] of messages.entries()) {
    const blocks = readMessage(message, { param: `messages.${index}`, formats, calls, exact });
    if ('unsupported' in blocks) return blocks;
    if (blocks.role !== 'system') append(merged, blocks);
    else if (merged.length === 0) addAll(system, blocks.blocks);
    else append(merged, { role: 'user', blocks: blocks.blocks.map(reminder) });
  }
  const turns: Turn[] = [];
  for (const turn of merged) append(turns, withoutLastThoughts(turn));
  if (turns.length === 0) {
    return { unsupported: 'This model takes at least one user message with text or an image.', param: 'messages' };
  }
  for (const [index, turn] of turns.entries()) {
    const before = turns[index - 1];
    if (turn.role === 'user' && before?.role === 'assistant') resultsFirst(turn.blocks, before.blocks);
  }
  return { system, turns };
}

/**
 * Puts results first, because Anthropic refuses another order. It sorts them in the order of their calls, because some
 * APIs match several results of one function only by order.
 */
function resultsFirst(blocks: UserBlock[], calls: readonly AssistantBlock[]): void {
  const order = new Map<string, number>();
  for (const call of calls) if (call.kind === 'tool_call') order.set(call.id, order.size);
  const placeOf = (block: UserBlock): number =>
    block.kind === 'tool_result' ? (order.get(block.callId) ?? order.size) : order.size + 1;
  blocks.sort((a, b) => placeOf(a) - placeOf(b));
}

/** Marks text of the operator within the user's turn, in the way that Claude's own agents do. */
const reminder = (block: TextBlock): TextBlock => ({
  ...block,
  text: `<system-reminder>\n${block.text}\n</system-reminder>`,
});

/** Drops thoughts that no block follows: Anthropic refuses a turn that ends with one, Google one without parts. */
function withoutLastThoughts(turn: Turn): Turn {
  while (turn.blocks.at(-1)?.kind === 'reasoning') turn.blocks.pop();
  return turn;
}

/** Adds without spreading: a message may have more parts than a call may have arguments. */
function addAll<Block>(blocks: Block[], more: readonly Block[]): void {
  for (const block of more) blocks.push(block);
}

/** Merges consecutive messages of one side into one turn. */
function append(turns: Turn[], turn: Turn): void {
  const last = turns.at(-1);
  if (last?.role === 'user' && turn.role === 'user') addAll(last.blocks, turn.blocks);
  else if (last?.role === 'assistant' && turn.role === 'assistant') addAll(last.blocks, turn.blocks);
  else if (turn.blocks.length > 0) turns.push(turn);
}

interface Reading {
  /** The path of the message in the request. */
  readonly param: string;
  readonly formats: readonly string[];
  /** Names of the functions called so far, by the id of the call. */
  readonly calls: Map<string, string>;
  readonly exact: ExactBudget;
}

type MessageBlocks = { readonly role: 'system'; readonly blocks: TextBlock[] } | Turn | UnsupportedRequest;

function readMessage(message: Message, reading: Reading): MessageBlocks {
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', blocks: textBlocks(message.content) };
    case 'user':
      return readUser(message, reading);
    case 'assistant':
      return readAssistant(message, reading);
    case 'tool': {
      const name = reading.calls.get(message.tool_call_id);
      const param = `${reading.param}.tool_call_id`;
      if (name === undefined) return { unsupported: `\`${param}\` names no tool call of an earlier message.`, param };
      const { texts, images } = partsOf(message.content, reading.param);
      const text = texts.map((block) => block.text).join('\n');
      const cached = texts.some((block) => block.cached);
      const result = { kind: 'tool_result', callId: message.tool_call_id, name, text, cached } as const;
      return { role: 'user', blocks: [result, ...images] };
    }
    default:
      return message satisfies never;
  }
}

function readUser(message: Extract<Message, { role: 'user' }>, { param }: Reading): MessageBlocks {
  if (typeof message.content === 'string') return { role: 'user', blocks: textBlocks(message.content) };
  const blocks: UserBlock[] = [];
  for (const [index, part] of message.content.entries()) {
    if (part.type === 'text') addAll(blocks, textBlocks([part]));
    else blocks.push(imageBlock(part, `${param}.content.${index}`));
  }
  return { role: 'user', blocks };
}

type ImageBlock = Extract<UserBlock, { kind: 'image' }>;

/** The parts of a tool's result, including empty texts. */
function partsOf(content: SeenContent, param: string): { readonly texts: TextBlock[]; readonly images: ImageBlock[] } {
  if (typeof content === 'string') return { texts: textBlocks(content, true), images: [] };
  const texts: TextBlock[] = [];
  const images: ImageBlock[] = [];
  for (const [index, part] of content.entries()) {
    if (part.type === 'text') addAll(texts, textBlocks([part], true));
    else images.push(imageBlock(part, `${param}.content.${index}`));
  }
  return { texts, images };
}

/** The images of a conversation, in order. */
export const imagesOf = (turns: readonly Turn[]): ImageBlock[] =>
  turns.flatMap((turn) => (turn.role === 'user' ? turn.blocks.filter((block) => block.kind === 'image') : []));

const imageBlock = (part: ImagePart, param: string): ImageBlock => ({
  kind: 'image',
  source: readImageUrl(part.image_url.url),
  cached: isCached(part),
  param: `${param}.image_url.url`,
});

type SeenContent = Extract<Message, { role: 'user' }>['content'];
type ImagePart = Extract<Exclude<SeenContent, string>[number], { type: 'image_url' }>;

function readAssistant(message: Extract<Message, { role: 'assistant' }>, reading: Reading): MessageBlocks {
  const own = (message.reasoning_details ?? []).filter(({ format }) => reading.formats.includes(format ?? ''));
  const blocks: AssistantBlock[] = mergeDetails(own)
    .filter(isReturnable)
    .map((detail) => ({ kind: 'reasoning', detail }));
  const parts = message.content ?? [];
  blocks.push(
    ...textBlocks(
      typeof parts === 'string'
        ? parts
        : parts.map((part) => (part.type === 'refusal' ? { text: part.refusal } : part)),
    ),
    ...textBlocks(message.refusal ?? []),
  );
  for (const [index, { id, function: called }] of (message.tool_calls ?? []).entries()) {
    const input = called.arguments.trim() === '' ? {} : asObject(parseExactJson(called.arguments, reading.exact));
    const param = `${reading.param}.tool_calls.${index}.function.arguments`;
    if (input === undefined || !isJsonWithinDepth(input)) {
      const unsupported = `\`${param}\` must be a JSON object of at most ${maxJsonDepth} levels for this model.`;
      return { unsupported, param };
    }
    reading.calls.set(id, called.name);
    blocks.push({ kind: 'tool_call', id, name: called.name, input });
  }
  return { role: 'assistant', blocks };
}

type TextContent = string | readonly { readonly text: string; readonly cache_control?: unknown }[];

function textBlocks(content: TextContent, evenEmpty = false): TextBlock[] {
  const parts = typeof content === 'string' ? [{ text: content }] : content;
  return parts
    .map((part) => ({ kind: 'text' as const, text: part.text, cached: isCached(part) }))
    .filter(({ text }) => evenEmpty || text.trim() !== '');
}

const isCached = (part: { readonly cache_control?: unknown }): boolean => part.cache_control != null;

/** The source of an image: the request itself, or an https address that the provider fetches. */
type ImageSource = { readonly mediaType: string; readonly base64: string } | { readonly url: string };

/** Reads the URL of an image part. The request's schema has validated it. The media type is lower case. */
export function readImageUrl(url: string): ImageSource {
  if (!/^data:/i.test(url)) return { url };
  const comma = url.indexOf(',');
  const [mediaType = ''] = url.slice('data:'.length, comma).toLowerCase().split(';');
  return { mediaType: registeredMediaType(mediaType), base64: url.slice(comma + 1) };
}

const anyObject = 'Answer with one valid JSON object and nothing else: no words around it and no code fence.';

/**
 * Replaces `json_object`, and a `json_schema` without a schema, on APIs without such a mode. It is a sentence at the
 * end of the system prompt. Undefined if the request asks for neither.
 */
export function jsonInstruction(format: ChatRequest['response_format']): string | undefined {
  if (format?.type === 'json_object') return anyObject;
  return format?.type === 'json_schema' && format.json_schema.schema === undefined ? anyObject : undefined;
}
