import { parseExactJson, unboundedExactness } from '@sotto/wire';

export { asArray, asNumber, asObject, asObjects, asString, type JsonObject, parseJson } from '@sotto/wire';

/** Parses JSON that is written again, with all digits and in its order. Returns undefined if it is invalid. */
export const parseExact = (text: string): unknown => parseExactJson(text, unboundedExactness);
