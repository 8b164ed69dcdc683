import { ClientError } from '../../errors.ts';

/** The header is no proof: every field must open all the same. Where it is missing, none of the reply is read. */
export function requireApplied(headers: Headers): void {
  if (headers.get('x-e2ee-applied')?.toLowerCase() !== 'true' || headers.get('x-e2ee-version') !== '2') {
    throw new ClientError('e2ee_reply_not_encrypted');
  }
}
