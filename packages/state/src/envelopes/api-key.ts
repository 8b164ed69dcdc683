import { hash, randomBytes } from 'node:crypto';

export type KeyKind = 'inference' | 'management';

const prefixes: Record<KeyKind, string> = { inference: 'sotto_inf_', management: 'sotto_mgt_' };
const secretLength = 43;
const checksumLength = 6;

const checksum = (text: string): string =>
  hash('sha256', `sotto key checksum ${text}`, 'base64url').slice(0, checksumLength);

/** Creates a key: prefix, 32 random bytes, checksum. The checksum reveals typing errors and leaked keys without a look-up. */
export function createApiKey(kind: KeyKind, random: (bytes: number) => Buffer = randomBytes): string {
  const body = prefixes[kind] + random(32).toString('base64url');
  return body + checksum(body);
}

/** Returns the kind of a well-formed key, which may not exist. Returns undefined for anything else. */
export function apiKeyKind(text: string): KeyKind | undefined {
  const kind = text.startsWith(prefixes.inference)
    ? 'inference'
    : text.startsWith(prefixes.management)
      ? 'management'
      : undefined;
  if (kind === undefined || text.length !== prefixes[kind].length + secretLength + checksumLength) return undefined;
  const body = text.slice(0, -checksumLength);
  return checksum(body) === text.slice(-checksumLength) ? kind : undefined;
}

/** The only stored form of a key. Plain SHA-256 suffices, because the key has 256 random bits. */
export const hashSecret = (secret: string): string => hash('sha256', secret, 'base64url');
