import {
  addThought,
  assistantMessages,
  type ChatBody,
  emptyTurn,
  missingDocument,
  plainest,
  type SeenPart,
  type SystemMessage,
  type TextPart,
  unreadable,
} from '../chat-body.ts';
import { asArray, asObject, asObjects, asString, type JsonObject } from '../json.ts';
import { openReasoning } from '../reasoning-envelope.ts';
import { chatName } from '../tool-names.ts';
import { field } from './fields.ts';

type ChatMessages = ChatBody['messages'];

/** Reads `systemInstruction` and `contents` as the messages of a chat. */
export function readContents(request: JsonObject): ChatMessages {
  const contents = listOf(request.contents);
  if (contents.length === 0) throw unreadable('`contents` must be a list of contents.', 'contents');
  const messages: ChatMessages = readSystem(field(request, 'systemInstruction'));
  const calls = new CallIds();
  for (const [index, content] of contents.entries()) {
    const param = `contents.${index}.parts`;
    const parts = partsOf(content);
    if (content.role === 'model') messages.push(...readModelTurn(parts, calls));
    else messages.push(...readUserTurn(parts, calls, param));
  }
  return messages;
}

/** Google's clients may send one content, or a text, instead of a list. */
const listOf = (value: unknown): readonly JsonObject[] => {
  if (typeof value === 'string') return [{ parts: [{ text: value }] }];
  const one = asObject(value);
  return one === undefined ? (asObjects(value) ?? []) : [one];
};

const partsOf = ({ parts }: JsonObject): readonly JsonObject[] => {
  const one = asObject(parts);
  return one === undefined ? (asObjects(parts) ?? []) : [one];
};

function readSystem(value: unknown): ChatMessages {
  const parts = listOf(value).flatMap(partsOf);
  const texts = parts.flatMap(({ text }): TextPart[] =>
    typeof text === 'string' && text ? [{ type: 'text', text }] : [],
  );
  return texts.length === 0 ? [] : [{ role: 'system', content: plainest(texts) as SystemMessage['content'] }];
}

/** Gives ids to calls that have none, and finds the call that a result answers: Google's API knows a call by its name. */
class CallIds {
  readonly #open: { readonly name: string; readonly id: string }[] = [];
  #count = 0;

  called(name: string, id: string | undefined): string {
    this.#count += 1;
    const known = id ?? `call_${this.#count}`;
    this.#open.push({ name, id: known });
    return known;
  }

  /** Returns undefined if no call waits for the result. */
  answered(name: string, id: string | undefined): string | undefined {
    const at = this.#open.findIndex((call) => (id === undefined ? call.name === name : call.id === id));
    const [call] = at === -1 ? [] : this.#open.splice(at, 1);
    return call?.id ?? id;
  }
}

function readModelTurn(parts: readonly JsonObject[], calls: CallIds): ChatMessages {
  const turn = emptyTurn();
  for (const part of parts) {
    addThought(turn, openReasoning(field(part, 'thoughtSignature')));
    const call = asObject(field(part, 'functionCall'));
    if (call !== undefined) {
      const name = asString(call.name) ?? '';
      const id = calls.called(name, asString(call.id));
      const called = { name: chatName({ name }), arguments: JSON.stringify(call.args ?? {}) };
      turn.calls.push({ id, type: 'function', function: called });
      continue;
    }
    // A thought without our signature cannot be returned to a provider. The other kinds are traces of Google's tools.
    const text = part.thought === true ? '' : asString(part.text);
    if (text) turn.said.push({ type: 'text', text });
  }
  return assistantMessages(turn);
}

/** In a chat, results are messages of their own, and they follow the calls at once. */
function readUserTurn(parts: readonly JsonObject[], calls: CallIds, param: string): ChatMessages {
  const results: ChatMessages = [];
  const said: SeenPart[] = [];
  for (const [index, part] of parts.entries()) {
    const at = `${param}.${index}`;
    const result = asObject(field(part, 'functionResponse'));
    if (result === undefined) {
      said.push(...readPart(part, at));
      continue;
    }
    const name = asString(result.name) ?? '';
    const id = calls.answered(name, asString(result.id));
    if (id === undefined) {
      throw unreadable(
        `\`${at}.functionResponse\` answers no call of \`${name}\` before it.`,
        `${at}.functionResponse`,
      );
    }
    results.push({ role: 'tool', tool_call_id: id, content: readResult(result, `${at}.functionResponse`) });
  }
  return said.length === 0 ? results : [...results, { role: 'user', content: plainest(said) }];
}

/** Reads what a function returned: its output or error as a text where it is one, and any other JSON as it is. */
function readResult(result: JsonObject, param: string): string | SeenPart[] {
  const response = asObject(result.response) ?? {};
  const [[name, value] = [], second] = Object.entries(response);
  const isText = second === undefined && typeof value === 'string';
  const text =
    isText && name === 'output' ? value : isText && name === 'error' ? `Error: ${value}` : JSON.stringify(response);
  const seen = (asArray(result.parts) ?? []).flatMap((part, index) =>
    readPart(asObject(part) ?? {}, `${param}.parts.${index}`),
  );
  return plainest([{ type: 'text', text }, ...seen]);
}

/** Reads text and images. A chat cannot carry other files, so the model is told that one is missing. */
function readPart(part: JsonObject, param: string): SeenPart[] {
  if (typeof part.text === 'string') return part.text === '' ? [] : [{ type: 'text', text: part.text }];
  const inline = asObject(field(part, 'inlineData'));
  if (inline !== undefined) {
    const type = asString(field(inline, 'mimeType')) ?? 'unknown type';
    const encoded = asString(inline.data) ?? '';
    if (type.startsWith('image/')) return [{ type: 'image_url', image_url: { url: `data:${type};base64,${encoded}` } }];
    if (type.startsWith('text/')) return [{ type: 'text', text: Buffer.from(encoded, 'base64').toString('utf8') }];
    return [{ type: 'text', text: missingDocument(type) }];
  }
  const file = asObject(field(part, 'fileData'));
  if (file === undefined) return [];
  const url = asString(field(file, 'fileUri')) ?? '';
  const isImage = (asString(field(file, 'mimeType')) ?? 'image/').startsWith('image/');
  if (isImage && /^https?:\/\//.test(url) && !url.includes('generativelanguage.googleapis.com'))
    return [{ type: 'image_url', image_url: { url } }];
  const message = `\`${param}.fileData\` names a file that only Google has: send its content as \`inlineData\`.`;
  throw unreadable(message, `${param}.fileData`);
}
