import {
  type AssistantTurn,
  addThought,
  assistantMessages,
  type ChatBody,
  emptyTurn,
  type ImagePart,
  plainest,
  type SeenPart,
  type SystemMessage,
  type TextPart,
  unreadable,
} from '../chat-body.ts';
import { asArray, asObject, asObjects, asString, type JsonObject } from '../json.ts';
import { openReasoning } from '../reasoning-envelope.ts';
import { chatName } from '../tool-names.ts';
import { type BuiltInName, builtInOutput, builtInTools } from './built-in-tools.ts';
import { readCompaction } from './compaction.ts';

type ChatMessages = ChatBody['messages'];

export interface ReadInput {
  readonly messages: ChatMessages;
  /** The types of items that were left out: traces of tools that OpenAI ran. */
  readonly dropped: readonly string[];
}

/** Reads `instructions` and `input` as the messages of a chat. */
export function readInput(request: JsonObject): ReadInput {
  const messages: ChatMessages = [];
  const instructions = asString(request.instructions);
  if (instructions) messages.push({ role: 'system', content: instructions });
  if (typeof request.input === 'string') {
    messages.push({ role: 'user', content: request.input });
    return { messages, dropped: [] };
  }
  const items = asObjects(request.input);
  if (items === undefined) throw unreadable('`input` must be a string or a list of items.', 'input');
  const reader = new InputReader(messages);
  for (const [index, item] of items.entries()) reader.read(item, `input.${index}`);
  reader.end();
  return { messages, dropped: [...reader.dropped] };
}

class InputReader {
  readonly dropped = new Set<string>();
  readonly #messages: ChatMessages;
  #turn: AssistantTurn | undefined;

  constructor(messages: ChatMessages) {
    this.#messages = messages;
  }

  read(item: JsonObject, param: string): void {
    switch (item.type ?? 'message') {
      case 'message':
        this.#message(item, param);
        return;
      case 'agent_message':
        this.#add({ role: 'user', content: plainest(readParts(item.content, `${param}.content`)) });
        return;
      case 'reasoning':
        this.#reasoning(item);
        return;
      case 'function_call':
        this.#call(item, readArguments(item.arguments, `${param}.arguments`));
        return;
      case 'custom_tool_call':
        this.#call(item, JSON.stringify({ input: asString(item.input) ?? '' }));
        return;
      case 'apply_patch_call':
        this.#builtInCall(item, 'apply_patch');
        return;
      case 'shell_call':
        this.#builtInCall(item, 'shell');
        return;
      case 'local_shell_call':
        this.#builtInCall(item, 'local_shell');
        return;
      case 'function_call_output':
      case 'custom_tool_call_output':
        this.#output(item, readOutput(item.output, `${param}.output`));
        return;
      case 'apply_patch_call_output':
      case 'shell_call_output':
      case 'local_shell_call_output':
        this.#output(item, builtInOutput(item));
        return;
      case 'compaction':
      case 'context_compaction':
        this.#add({ role: 'user', content: readCompaction(item, param) });
        return;
      case 'compaction_trigger':
        return;
      case 'item_reference':
        throw unreadable('An `item_reference` names an item that the service would have kept. It keeps none.', param);
      default:
        this.dropped.add(String(item.type));
    }
  }

  /** Ends the turn that is open. */
  end(): void {
    const turn = this.#turn;
    this.#turn = undefined;
    if (turn !== undefined) this.#messages.push(...assistantMessages(turn));
  }

  #message(item: JsonObject, param: string): void {
    const parts = readParts(item.content, `${param}.content`);
    switch (item.role) {
      case 'assistant':
        this.#open().said.push(...parts.filter((part) => part.type === 'text' && part.text !== '').map(asText));
        return;
      case 'user':
        this.#add({ role: 'user', content: plainest(parts) });
        return;
      case 'system':
      case 'developer':
        // Not every provider knows the role `developer`. Those that do read `system` in the same way.
        this.#add({ role: 'system', content: plainest(parts) as SystemMessage['content'] });
        return;
      default:
        throw unreadable(`\`${param}.role\` must be user, assistant, system or developer.`, `${param}.role`);
    }
  }

  /** Adds a message of the caller's side. An empty one says nothing, and providers refuse it. */
  #add(message: ChatMessages[number]): void {
    if (message.content === '') return;
    this.end();
    this.#messages.push(message);
  }

  #reasoning(item: JsonObject): void {
    const kept = openReasoning(item.encrypted_content);
    if (kept === undefined) return;
    addThought(this.#open(), kept);
  }

  #call(item: JsonObject, text: string): void {
    const name = chatName({ name: asString(item.name) ?? '', namespace: asString(item.namespace) });
    const id = asString(item.call_id) ?? asString(item.id) ?? '';
    this.#open().calls.push({ id, type: 'function', function: { name, arguments: text } });
  }

  #builtInCall(item: JsonObject, name: BuiltInName): void {
    this.#call({ ...item, name }, JSON.stringify(builtInTools[name].read(item)));
  }

  #output(item: JsonObject, content: string | SeenPart[]): void {
    this.end();
    const id = asString(item.call_id) ?? asString(item.id) ?? '';
    this.#messages.push({ role: 'tool', tool_call_id: id, content });
  }

  #open(): AssistantTurn {
    this.#turn ??= emptyTurn();
    return this.#turn;
  }
}

/** Reads the arguments of an earlier call. Some programs send the object instead of its text. */
function readArguments(value: unknown, param: string): string {
  if (value == null) return '';
  if (typeof value === 'string') return value;
  if (asObject(value) !== undefined) return JSON.stringify(value);
  throw unreadable(`\`${param}\` must be a string that holds a JSON object.`, param);
}

const asText = (part: SeenPart): TextPart => ({ type: 'text', text: part.type === 'text' ? part.text : '' });

/** Reads what a tool returned: a text, a list of parts, or any other JSON, which is passed on as text. */
function readOutput(output: unknown, param: string): string | SeenPart[] {
  if (asArray(output) !== undefined) return plainest(readParts(output, param));
  return typeof output === 'string' ? output : JSON.stringify(output ?? '');
}

function readParts(content: unknown, param: string): SeenPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return (asObjects(content) ?? []).flatMap((part, index) => readPart(part, `${param}.${index}`));
}

function readPart(part: JsonObject, param: string): SeenPart[] {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
    case 'summary_text':
      return [{ type: 'text', text: asString(part.text) ?? '' }];
    case 'refusal':
      return [{ type: 'text', text: asString(part.refusal) ?? '' }];
    case 'input_image':
      return [readImage(part, param)];
    case 'encrypted_content':
      return [];
    default: {
      const type = asString(part.type) ?? 'unknown';
      throw unreadable(`\`${param}\` is of the type \`${type}\`: only text and images can be passed on.`, param);
    }
  }
}

function readImage(part: JsonObject, param: string): ImagePart {
  const url = asString(part.image_url) ?? asString(asObject(part.image_url)?.url);
  if (url === undefined) {
    throw unreadable(`\`${param}\` must have an \`image_url\`: no files are kept here.`, `${param}.image_url`);
  }
  const { detail } = part;
  // `original` asks for no smaller copy, which `high` comes closest to.
  const shown = detail === 'original' ? 'high' : detail;
  const isDetail = shown === 'auto' || shown === 'low' || shown === 'high';
  return { type: 'image_url', image_url: { url, ...(isDetail ? { detail: shown } : {}) } };
}
