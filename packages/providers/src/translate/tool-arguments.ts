import { asObject } from '../json.ts';
import { MalformedAnswer } from './malformed-answer.ts';

/**
 * Returns the arguments of a tool call as text. APIs send them as JSON text or as an object, and some servers send the form of the
 * other API. Undefined if there are none. Throws `MalformedAnswer` for anything else: a tool must not run with arguments that the
 * model did not write.
 */
export function argumentsText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  const text = asObject(value) === undefined ? '' : JSON.stringify(value);
  if (text.startsWith('{')) return text;
  throw new MalformedAnswer();
}
