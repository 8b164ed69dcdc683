/**
 * A field that the event-stream format does not know, which is to be ignored, as some proxies add; and not the beginning
 * of a sentence about an error.
 */
export const unknownField: RegExp = /^(?!error:)[a-z][a-z0-9_-]*:/i;
