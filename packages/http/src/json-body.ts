import { isUtf8 } from 'node:buffer';
import { ServiceError } from '@sotto/wire';
import { isJsonWithinBounds } from './json-bounds.ts';

/**
 * Parses a body that arrived as bytes. Throws `invalid_request` in our own words: the parser's message quotes what it
 * read, which may be content.
 */
export function readJsonBody(body: unknown): object {
  if (!Buffer.isBuffer(body) || body.length === 0) {
    throw new ServiceError('invalid_request', { message: 'The body is empty; send a JSON object.' });
  }
  if (!isUtf8(body)) throw new ServiceError('invalid_request', { message: 'The body is not valid UTF-8.' });
  if (!isJsonWithinBounds(body)) {
    const message =
      'The body holds too many JSON values: at most a million numbers, 110,000 texts, lists and objects, or 40,000 names. Send fewer in one request.';
    throw new ServiceError('invalid_request', { message });
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch {
    throw new ServiceError('invalid_request', { message: 'The body is not valid JSON.' });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new ServiceError('invalid_request', { message: 'The body must be a JSON object.' });
  }
  return parsed;
}
