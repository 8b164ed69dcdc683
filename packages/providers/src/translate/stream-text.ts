/** Decodes text from bytes that stream readers hold as one character each. */
export const utf8 = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');
export const latin1 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

/**
 * Matches a line whose field the event-stream format does not define. A reader ignores it, because some proxies add
 * such lines. A line that begins with `error:` does not match, because it reports a failure.
 */
export const unknownField: RegExp = /^(?!error:)[a-z][a-z0-9_-]*:/i;
