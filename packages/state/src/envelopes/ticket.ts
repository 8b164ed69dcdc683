import { hash } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { canonicalPolicy } from '@sotto/router';
import type {
  ImageSettings,
  Operation,
  Preferences,
  ProviderPolicy,
  ReasoningSelection,
  SpeechSettings,
} from '@sotto/wire';
import type { Keys } from './keys.ts';
import { seal, unseal } from './sealed.ts';

/** What a ticket binds, each part for its own mismatch error: short texts as they are, long ones as digests. */
export interface TicketBindings {
  readonly operation: Operation | 'attestation';
  readonly model: string;
  readonly reasoning: string;
  readonly policy: string;
  readonly media: string;
}

export interface TicketEnvelope {
  readonly v: 1;
  readonly shard: number;
  /** Of the key and its workspace's preferences. */
  readonly generation: number;
  /** Unix ms. */
  readonly expiresAt: number;
  readonly bindings: TicketBindings;
  /** Of an attestation ticket: of which enclave evidence may be had. Its request says nothing but a nonce. */
  readonly attestation?: { readonly model: string; readonly provider?: ProviderPolicy | null | undefined };
  /** The workspace's part of the policy: the body's own part is merged into it again, and can only tighten it. */
  readonly preferences: Preferences;
  /** Sealed by control for control alone; of one length, fresh each time. */
  readonly accountRef: string;
}

const prefix = 'sotto_tkt_';
const purpose = 'sotto ticket v1';
/** Below this the envelope is sealed as it is: compressing costs more than the header it saves. */
const deflateAbove = 2048;

/** The string a client presents: the envelope, sealed by control for the broker. */
export function sealTicket(key: Buffer, envelope: TicketEnvelope): string {
  const json = Buffer.from(JSON.stringify(envelope));
  const deflated = json.length > deflateAbove;
  const body = Buffer.concat([Buffer.from([deflated ? 1 : 0]), deflated ? deflateRawSync(json) : json]);
  return prefix + seal(key, body, purpose).toString('base64url');
}

/** Opens a ticket; undefined where it was sealed under none of these keys or is of no version we read. */
export function openTicket(keys: Keys, ticket: string): TicketEnvelope | undefined {
  if (!ticket.startsWith(prefix)) return undefined;
  const body = unseal(keys, Buffer.from(ticket.slice(prefix.length), 'base64url'), purpose);
  if (body === undefined) return undefined;
  const json =
    body[0] === 1
      ? inflateRawSync(body.subarray(1), { maxOutputLength: 1 << 20 }).toString('utf8')
      : body.toString('utf8', 1);
  const envelope: { v?: unknown } = JSON.parse(json);
  // Whoever sealed it is control, and this version says in which form: it is not validated field by field again.
  return envelope.v === 1 ? (envelope as TicketEnvelope) : undefined;
}

const longestPlain = 64;

function bound(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= longestPlain ? text : hash('sha256', text, 'base64url');
}

/** The bindings of a request: computed by control from the ticket request and by the broker from the body. */
export function bindingsOf(request: {
  readonly operation: TicketBindings['operation'];
  readonly model: string;
  readonly models?: readonly string[] | null | undefined;
  readonly provider?: ProviderPolicy | null | undefined;
  readonly reasoning: ReasoningSelection;
  readonly media?: ImageSettings | SpeechSettings | undefined;
}): TicketBindings {
  const { operation, model, models, provider, reasoning, media } = request;
  return {
    operation,
    model: bound([...new Set([model, ...(models ?? [])])]),
    reasoning: bound([reasoning.effort ?? null, reasoning.enabled ?? null]),
    policy: bound(canonicalPolicy(provider)),
    media: bound(media === undefined ? [] : Object.values(media)),
  };
}
