/** Parses JSON. Returns undefined if it is invalid. It drops the parser's message, which quotes the input. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
