import { createHash } from 'node:crypto';
import { asArray, asObject, asObjects, asString, type JsonObject, parseJson } from '@sotto/wire';

/** One turn of a user or an assistant, with all turns before it. */
export interface Turn {
  readonly role: 'user' | 'assistant';
  /** Equal for two conversations if this turn and all before it are. */
  readonly digest: string;
}

/**
 * Reads the turns by which a conversation is recognised when it is sent again. It ignores what agents move, add and drop
 * between two requests of one conversation: system messages, marks of caches, reminders, reasoning, and results of tools.
 * Another model, or a request without tools beside one with tools, makes another conversation: no cache serves both.
 */
export function turnsOf(body: JsonObject): readonly Turn[] {
  const hasTools = (asArray(body.tools)?.length ?? 0) > 0;
  let digest = digestOf([body.model, hasTools]);
  return (asObjects(body.messages) ?? []).flatMap((message): Turn[] => {
    const { role } = message;
    if (role !== 'user' && role !== 'assistant') return [];
    const said = role === 'user' ? contentOf(message) : [...contentOf(message), ...callsOf(message)];
    if (said.length === 0) return [];
    digest = digestOf([digest, role, said]);
    return [{ role, digest }];
  });
}

/** Elements that agents put into turns of a user. Their text changes, and moves to the latest turn. */
const reminders = /<(system-reminder|environment_context|environment_details)>.*?<\/\1>/gs;

/** The texts and other parts of a message. */
function contentOf({ content }: JsonObject): readonly unknown[] {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (asObjects(content) ?? []);
  const texts = parts.map(({ type, text }) => (type === 'text' ? (asString(text) ?? '') : ''));
  const text = texts.join('\n').replace(reminders, '').replace(/\s+/g, ' ').trim();
  const others = parts.flatMap(({ type, cache_control: _, ...part }) => (type === 'text' ? [] : [part]));
  return [...(text === '' ? [] : [text]), ...others];
}

/** The calls of a message, without their ids. Agents write the arguments again, with other spaces. */
const callsOf = ({ tool_calls: calls }: JsonObject): readonly unknown[] =>
  (asObjects(calls) ?? []).map((call) => {
    const { name, arguments: text } = asObject(call.function) ?? {};
    return [name, parseJson(asString(text) ?? '') ?? text];
  });

const digestOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('base64');
