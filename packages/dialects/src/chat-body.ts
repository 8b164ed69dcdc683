import { type ChatRequest, type Message, type ReasoningDetail, ServiceError } from '@sotto/wire';
import type { KeptReasoning } from './reasoning-envelope.ts';
import type { ToolNames } from './tool-names.ts';

/** The body of a chat request as a dialect writes it. The service checks it against its schema. */
export type ChatBody = Pick<ChatRequest, 'model' | 'messages'> & Partial<ChatRequest>;

export type UserMessage = Extract<Message, { role: 'user' }>;
export type AssistantMessage = Extract<Message, { role: 'assistant' }>;
export type SystemMessage = Extract<Message, { role: 'system' }>;

/** A part of a user or tool message. */
export type SeenPart = Exclude<UserMessage['content'], string>[number];
export type TextPart = Extract<SeenPart, { type: 'text' }>;
export type ImagePart = Extract<SeenPart, { type: 'image_url' }>;

export type ChatTool = NonNullable<ChatRequest['tools']>[number];
export type ChatToolCall = NonNullable<AssistantMessage['tool_calls']>[number];
export type ChatToolChoice = NonNullable<ChatRequest['tool_choice']>;

/** Writes a lone text without a cache mark as a string: every provider takes that, and not every one takes parts. */
export function plainest<Part extends SeenPart>(parts: readonly Part[]): string | Part[] {
  const [only, second] = parts;
  if (only === undefined) return '';
  const isPlain = second === undefined && only.type === 'text' && only.cache_control == null;
  return isPlain ? only.text : [...parts];
}

/** The error for a request that cannot be translated. It names the field in the words of the dialect. */
export const unreadable = (message: string, param?: string): ServiceError =>
  new ServiceError('invalid_request', { message, param });

/**
 * The error for a request that offers nothing but tools which a vendor would run. Without them the model would make their
 * results up.
 */
export const onlyForeignTools = (tools: readonly string[], vendor: string, param = 'tools'): ServiceError =>
  unreadable(`Only ${vendor} can run \`${tools.join('`, `')}\`. This service runs no tools: offer your own.`, param);

/** The tools of a request. */
export interface ReadTools {
  readonly tools: ChatTool[];
  /** The tools by their names in the chat. */
  readonly names: ToolNames;
  /** The names of tools that the vendor would run or has built into its models. Nothing here can offer them. */
  readonly dropped: string[];
}

/** A request of a dialect, as it was read. */
export interface ReadRequest {
  readonly body: ChatBody;
  /** Names the parts that were left out. */
  readonly notes: readonly string[];
  readonly names: ToolNames;
}

/** Returns a note on tools that were left out, if there are any. Throws if the request offers no others. */
export function noteOnDropped({ tools, dropped }: ReadTools, vendor: string): string[] {
  if (dropped.length === 0) return [];
  if (tools.length === 0) throw onlyForeignTools(dropped, vendor);
  return [`Left out tools that only ${vendor} can run: ${[...new Set(dropped)].join(', ')}.`];
}

/** Tells the model of a file that a chat cannot carry. */
export const missingDocument = (type: string): string =>
  `[A document (${type}) was attached. This service cannot pass it on.]`;

/** One turn of the model. A chat has one message for it. */
export interface AssistantTurn {
  readonly said: TextPart[];
  readonly calls: ChatToolCall[];
  readonly details: ReasoningDetail[];
  reasoning: string;
}

export const emptyTurn = (): AssistantTurn => ({ said: [], calls: [], details: [], reasoning: '' });

/** Adds a thought to a turn. One without our mark cannot be returned to a provider, and is left out. */
export function addThought(turn: AssistantTurn, kept: KeptReasoning | undefined): void {
  if (kept === undefined) return;
  turn.reasoning += kept.text;
  turn.details.push(...kept.details);
}

/**
 * Writes a turn as a message. A turn without text or calls, such as an interrupted thought, is left out: providers
 * refuse an empty message.
 */
export function assistantMessages({ said, calls, details, reasoning }: AssistantTurn): AssistantMessage[] {
  if (said.length === 0 && calls.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: said.length === 0 ? null : (plainest(said) as string | TextPart[]),
      reasoning: reasoning || undefined,
      reasoning_details: details.length === 0 ? undefined : details,
      tool_calls: calls.length === 0 ? undefined : calls,
    },
  ];
}
