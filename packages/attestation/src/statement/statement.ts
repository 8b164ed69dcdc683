import { sha256 } from '@noble/hashes/sha2.js';
import { type Bytes, concatBytes } from '../bytes/bytes.ts';
import { canonicalJson } from './canonical-json.ts';

/**
 * What a statement is for. Each purpose is a text of its own, so that what was signed for one can never be shown for
 * another; evidence that is simulated has one that no hardware ever reports.
 */
export const statementPurposes = {
  gateway: 'sotto.gateway.report_data.v1',
  simulated: 'sotto.gateway.simulated.v1',
} as const;

export interface Statement {
  /** `sha256:` and 64 hex digits: `keySetDigest`. */
  readonly keySetDigest: string;
  /** The challenger's: 64 lower-case hex digits. */
  readonly nonce: string;
  /** The origin that is connected to: `https://host` or `https://host:port`. */
  readonly origin: string;
  readonly purpose: (typeof statementPurposes)[keyof typeof statementPurposes];
}

/** The statement of hop 1 as bytes: canonical JSON of its four members. */
export function statementBytes({ keySetDigest, nonce, origin, purpose }: Statement): Bytes {
  return new TextEncoder().encode(canonicalJson({ keyset_digest: keySetDigest, nonce, origin, purpose }));
}

/** The 64 bytes that hardware reports for a statement: its SHA-256, then zeros. */
export function reportDataOf(statement: Bytes): Bytes {
  return concatBytes(sha256(statement), new Uint8Array(32));
}

/** Whether a text is a nonce: exactly 64 lower-case hex digits, so that one nonce has one spelling. */
export function isNonce(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** Whether a text is an origin in the one spelling that browsers give it. */
export function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}
