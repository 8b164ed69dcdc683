import { asArray, asObject, type JsonObject } from '@sotto/wire';

/**
 * The fields of an answer that agents show to people and do not act on. An answer with any other field is treated as a tool
 * call, whatever the field is called: some JSON readers ignore the case of names.
 */
const shown = {
  answer: new Set(['id', 'object', 'created', 'model', 'system_fingerprint', 'choices', 'usage']),
  choice: new Set(['index', 'delta', 'message', 'logprobs', 'finish_reason']),
  message: new Set(['role', 'content', 'refusal', 'reasoning', 'reasoning_content', 'reasoning_details']),
};

/** Ends of an answer that call no tool. */
const textEnds = new Set<unknown>([undefined, null, 'stop', 'length', 'content_filter']);

/** Whether an answer, or one chunk of it, holds only what agents show. */
export function isOnlyShown(answer: JsonObject): boolean {
  if (!hasOnly(answer, shown.answer)) return false;
  const choices = answer.choices == null ? [] : asArray(answer.choices);
  // A lenient reader takes an object with the members 0, 1 for a list.
  if (choices === undefined) return false;
  return choices.every((each) => {
    const choice = asObject(each);
    if (choice === undefined || !hasOnly(choice, shown.choice) || !textEnds.has(choice.finish_reason)) return false;
    return [choice.delta, choice.message].every(isShownMessage);
  });
}

function isShownMessage(value: unknown): boolean {
  if (value === undefined) return true;
  const message = asObject(value);
  if (message === undefined || !hasOnly(message, shown.message)) return false;
  // Parts of a message can be tool calls in some dialects.
  return message.content == null || typeof message.content === 'string';
}

/** Whether all fields that hold something are known. */
const hasOnly = (object: JsonObject, names: ReadonlySet<string>): boolean =>
  Object.entries(object).every(([name, value]) => names.has(name) || value === null || isEmptyList(value));

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
