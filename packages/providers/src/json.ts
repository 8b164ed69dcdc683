import { asObject, type JsonObject, parseExactJson, parseJson } from '@sotto/wire';

export { asArray, asObject, asString, type JsonObject } from '@sotto/wire';

export const asCount = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

/** Returns the JSON object that a body holds. Undefined for any other body. */
export const objectIn = (body: Buffer): JsonObject | undefined => asObject(parseJson(body.toString('utf8')));

/** Like `objectIn`, for answers whose tool calls have objects as arguments: these keep their digits and their order. */
export const exactObjectIn = (body: Buffer): JsonObject | undefined => asObject(parseExactJson(body.toString('utf8')));

/**
 * Half of a surrogate pair, as JSON text writes it. A client that cuts a text within an emoji sends one, and strict
 * providers refuse the conversation that holds it, for good.
 */
const surrogate = /\\ud[89a-f]/i;
/** Any escape, so that an escaped backslash is not taken for the beginning of another. Captures halves of pairs. */
const escaped = /\\(?:u(d[89ab][0-9a-f]{2})(\\ud[c-f][0-9a-f]{2})?|u(d[c-f][0-9a-f]{2})|.)/gi;

/** Replaces halves of surrogate pairs in JSON text by U+FFFD. The plain search is ten times as fast, and most texts have no escape. */
export const wellFormedJson = (text: string): string =>
  text.includes('\\u') && surrogate.test(text)
    ? text.replace(escaped, (whole, high, pair, low) => ((high && !pair) || low ? '\\ufffd' : whole))
    : text;

/** Writes the body of a request to a provider. */
export const jsonBody = (body: object): string => wellFormedJson(JSON.stringify(body));
