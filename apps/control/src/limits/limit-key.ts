import { createHmac } from 'node:crypto';
import { derivedKey } from '../sessions/derived-key.ts';

/** The prefix of every key that control writes for its rate limits. */
const limitPrefix = 'control:limit:';

/** Returns the Redis key under which attempts of `counted` are counted. */
export type LimitKey = (counted: string) => string;

/**
 * Names counters by a MAC under a key that only control derives, so that Redis does not tell who signs in from where. A
 * plain hash would: IP addresses and e-mail addresses are so few that a reader can try them all.
 */
export function limitKeys(sessionSecret: string): LimitKey {
  const key = derivedKey(sessionSecret, 'sotto control: names of rate limits');
  return (counted) =>
    limitPrefix + createHmac('sha256', key).update(counted).digest().subarray(0, 16).toString('base64url');
}
