import { sha256 } from '@noble/hashes/sha2.js';
import { type Bytes, concatBytes } from '../bytes.ts';
import { canonicalJson } from './canonical-json.ts';

/** The verifier that evidence is for: a client before it sends content, or a keeper before it releases secrets. */
export type Audience = 'client' | 'keeper';

/**
 * The purpose in a statement. It prevents showing evidence for one audience to the other, or simulated evidence as
 * hardware's.
 */
export const statementPurposes = {
  client: { hardware: 'sotto.gateway.report_data.v1', simulated: 'sotto.gateway.simulated.v1' },
  keeper: { hardware: 'sotto.keeper.report_data.v1', simulated: 'sotto.keeper.simulated.v1' },
} as const satisfies Record<Audience, object>;
type Purposes = (typeof statementPurposes)[Audience];

/** The purpose in a statement about connections. Only clients ask for it. */
export const channelPurposes = {
  hardware: 'sotto.gateway.channel_report_data.v1',
  simulated: 'sotto.gateway.channel_simulated.v1',
} as const;

export interface Statement {
  /** `sha256:` and 64 hex digits, from `keySetDigest`. */
  readonly keySetDigest: string;
  /** The verifier's nonce: 64 lower-case hex digits. */
  readonly nonce: string;
  /** The origin that the client connects to: `https://host` or `https://host:port`; http in development. */
  readonly origin: string;
  readonly purpose: Purposes[keyof Purposes];
}

/** The statement of hop 1 as bytes: canonical JSON of its four members. */
export function statementBytes({ keySetDigest, nonce, origin, purpose }: Statement): Bytes {
  return new TextEncoder().encode(canonicalJson({ keyset_digest: keySetDigest, nonce, origin, purpose }));
}

/** A statement about connections, whose nonces are in the tree. */
export interface ChannelStatement extends Pick<Statement, 'keySetDigest' | 'origin'> {
  /** The root of the connections' tree: 64 lower-case hex digits (`channelTree`). */
  readonly root: string;
  readonly purpose: (typeof channelPurposes)[keyof typeof channelPurposes];
}

/** The statement of hop 1 about connections as bytes: canonical JSON of its four members. */
export function channelStatementBytes({ keySetDigest, origin, root, purpose }: ChannelStatement): Bytes {
  const members = { channel_root: `sha256:${root}`, keyset_digest: keySetDigest, origin, purpose };
  return new TextEncoder().encode(canonicalJson(members));
}

/** The 64 bytes that hardware reports for a statement: its SHA-256, then zeros. */
export function reportDataOf(statement: Bytes): Bytes {
  return concatBytes(sha256(statement), new Uint8Array(32));
}

/** Whether a text is a nonce: exactly 64 lower-case hex digits, so that each nonce has one spelling. */
export function isNonce(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** Whether a text is an origin of http or https in the spelling that browsers use. */
export function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}
