import { createHash } from 'node:crypto';

const safe = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * A tool call's id as strict APIs take it. What another provider made in another form is replaced by a digest, the same
 * for the call and for its result.
 */
export const safeCallId = (id: string): string =>
  safe.test(id) ? id : `call_${createHash('sha256').update(id).digest('base64url').slice(0, 24)}`;
