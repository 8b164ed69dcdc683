import { hash, randomBytes } from 'node:crypto';

export type KeyKind = 'inference' | 'management';

const prefixes: Record<KeyKind, string> = { inference: 'sotto_inf_', management: 'sotto_mgt_' };
const secretLength = 43;
const checksumLength = 6;

const checksum = (text: string): string =>
  hash('sha256', `sotto key checksum ${text}`, 'base64url').slice(0, checksumLength);

/** Makes a key: prefix, 32 random bytes, checksum. The checksum lets typing errors and leaks be told without a look-up. */
export function createApiKey(kind: KeyKind, random: (bytes: number) => Buffer = randomBytes): string {
  const body = prefixes[kind] + random(32).toString('base64url');
  return body + checksum(body);
}

/** The kind of a well-formed key; undefined for anything else. Says nothing about whether the key exists. */
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

/** The only form in which a key is kept. Plain SHA-256: the key itself has 256 random bits. */
export const hashSecret = (secret: string): string => hash('sha256', secret, 'base64url');
