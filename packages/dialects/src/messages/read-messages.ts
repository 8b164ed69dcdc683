import {
  type AssistantMessage,
  addThought,
  assistantMessages,
  type ChatBody,
  type ChatToolCall,
  emptyTurn,
  plainest,
  type SeenPart,
  type SystemMessage,
  type TextPart,
  unreadable,
} from '../chat-body.ts';
import { asObject, asObjects, asString, type JsonObject } from '../json.ts';
import { openReasoning, openSignature } from '../reasoning-envelope.ts';
import { chatName } from '../tool-names.ts';
import { blocksIn, cacheMark, readPart, readParts } from './read-content.ts';

type ChatMessages = ChatBody['messages'];

/** Reads `system` and `messages` as the messages of a chat. */
export function readMessages(body: JsonObject): ChatMessages {
  const messages: ChatMessages = [...readSystem(body.system)];
  const turns = asObjects(body.messages);
  if (turns === undefined) throw unreadable('`messages` must be a list of messages.', 'messages');
  const lastUser = turns.findLastIndex(({ role }) => role === 'user');
  for (const [index, turn] of turns.entries()) {
    const isOver = turn.clear_at === 'next_user_message' && index < lastUser;
    if (!isOver) addTurn(messages, turn, `messages.${index}`);
  }
  return messages;
}

function readSystem(system: unknown): SystemMessage[] {
  if (system == null) return [];
  const parts = withoutAttribution(textParts(system, 'system')).filter(({ text }) => text !== '');
  return parts.length === 0 ? [] : [{ role: 'system', content: plainest(parts) as SystemMessage['content'] }];
}

/** A line of `key=value;` pairs that Claude Code puts before its system prompt. Some of its values change with each request. */
const attribution = /^x-anthropic-billing-header:[^\n]*(?:\n+|$)/;

/**
 * Removes Claude Code's attribution from a system prompt. Before 2.1.181 it had a value that was new in each request, so
 * no provider could cache the prompt behind it. It also tells the provider which program asks.
 */
function withoutAttribution(parts: readonly TextPart[]): TextPart[] {
  const [first, ...others] = parts;
  if (first === undefined || !attribution.test(first.text)) return [...parts];
  const text = first.text.replace(attribution, '');
  return text === '' ? others : [{ ...first, text }, ...others];
}

const textParts = (content: unknown, param: string): TextPart[] =>
  readParts(content, param).filter((part) => part.type === 'text');

function addTurn(messages: ChatMessages, turn: JsonObject, param: string): void {
  const content = `${param}.content`;
  switch (turn.role) {
    case 'user':
      addUserTurn(messages, turn.content, content);
      return;
    case 'assistant':
      messages.push(...readAssistant(turn.content, content));
      return;
    case 'system':
      messages.push(...readSystem(turn.content));
      return;
    default:
      throw unreadable(`\`${param}.role\` must be \`user\` or \`assistant\`.`, `${param}.role`);
  }
}

/** In a chat, tool results are messages of their own, and they follow the calls at once. */
function addUserTurn(messages: ChatMessages, content: unknown, param: string): void {
  const said: SeenPart[] = [];
  for (const [index, block] of blocksIn(content, param).entries()) {
    const at = `${param}.${index}`;
    if (block.type === 'tool_result') messages.push(readResult(block, at));
    else said.push(...readPart(block, at));
  }
  if (said.length > 0) messages.push({ role: 'user', content: plainest(said) });
}

function readResult(block: JsonObject, param: string): ChatMessages[number] {
  const parts = block.content == null ? [] : readParts(block.content, `${param}.content`);
  const told = block.is_error === true ? asError(parts) : parts;
  return {
    role: 'tool',
    tool_call_id: asString(block.tool_use_id) ?? '',
    content: plainest(markedAtEnd(told, cacheMark(block))),
  };
}

/** Tells the model that a call failed. A chat has no field for it. */
function asError(parts: readonly SeenPart[]): SeenPart[] {
  const [first, ...others] = parts;
  if (first?.type !== 'text') return [{ type: 'text', text: 'Error' }, ...parts];
  const saysSo = /^\W*(?:\w+[\s_])?error/i.test(first.text);
  return saysSo ? [...parts] : [{ ...first, text: `Error: ${first.text}` }, ...others];
}

/** Moves the cache mark of a result to its last part, where a chat has it. */
function markedAtEnd(parts: readonly SeenPart[], mark: ReturnType<typeof cacheMark>): SeenPart[] {
  if (mark.cache_control === undefined) return [...parts];
  const last = parts.at(-1) ?? { type: 'text' as const, text: '' };
  return [...parts.slice(0, -1), { ...last, ...mark }];
}

function readAssistant(content: unknown, param: string): AssistantMessage[] {
  const turn = emptyTurn();
  for (const [index, block] of blocksIn(content, param).entries()) {
    if (block.type === 'tool_use') turn.calls.push(readCall(block, `${param}.${index}`));
    else if (block.type === 'thinking' || block.type === 'redacted_thinking') {
      addThought(turn, readThought(block));
    } else if (block.type === 'text') {
      turn.said.push(...(readPart(block, `${param}.${index}`) as TextPart[]).filter(({ text }) => text !== ''));
    }
    // The other kinds are traces of tools that the vendor ran. No other provider can read them.
  }
  return assistantMessages(turn);
}

/** Reads a thought that an answer of ours wrote. One that another service signed is dropped: no provider would accept it. */
const readThought = (block: JsonObject) =>
  block.type === 'thinking'
    ? openSignature(block.signature, asString(block.thinking) ?? '')
    : openReasoning(block.data);

function readCall({ id, name, input }: JsonObject, param: string): ChatToolCall {
  if (input != null && asObject(input) === undefined) {
    throw unreadable(`\`${param}.input\` must be a JSON object.`, `${param}.input`);
  }
  return {
    id: asString(id) ?? '',
    type: 'function',
    function: { name: chatName({ name: asString(name) ?? '' }), arguments: JSON.stringify(input ?? {}) },
  };
}
