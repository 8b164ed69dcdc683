import { hash } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { canonicalPolicy, type RequestPreferences } from '@sotto/router';
import {
  type ImageSettings,
  initialPreferences,
  isSameReasoning,
  type Operation,
  type ProviderPolicy,
  type ReasoningSelection,
  type SpeechSettings,
} from '@sotto/wire';
import { type Keys, seal, unseal } from './sealing.ts';

/** The values that a ticket binds. Each has its own mismatch error. Short texts are kept, long ones as digests. */
export interface TicketBindings {
  readonly operation: Operation | 'attestation';
  readonly model: string;
  readonly reasoning: string;
  readonly policy: string;
  readonly media: string;
}

/** A ticket's content. It has nothing that helps to identify its owner: the ticket's mark has the generation of the key. */
export interface TicketEnvelope {
  readonly v: 1;
  readonly shard: number;
  /** Unix ms. Later than the actual expiry: see `roundedExpiry`. */
  readonly expiresAt: number;
  readonly bindings: TicketBindings;
  /** In an attestation ticket: the enclave whose evidence it allows. The request has only a nonce. */
  readonly attestation?: { readonly model: string; readonly provider?: ProviderPolicy | null | undefined };
  /**
   * The workspace's part of the policy. The policy of the body is merged into it and can only tighten it. It is only the part that the
   * request needs (`narrowPreferences`), and has `auto` only for `/auto`.
   */
  readonly preferences: Omit<RequestPreferences, 'auto'> & Partial<Pick<RequestPreferences, 'auto'>>;
  /** Of an anonymous wallet: its settlement tells nothing but the charge, and its hold and its tokens are rounded up. */
  readonly quiet?: true | undefined;
  /** Encrypted by control for control. Fixed length, different each time. */
  readonly accountRef: string;
}

/** A ticket, as a broker uses it for planning. */
export interface OpenedTicket extends TicketEnvelope {
  readonly preferences: RequestPreferences;
}

const hourMs = 3_600_000;

/**
 * Returns the end of the hour in which a ticket expires, in Unix ms. Tickets have this time, because an exact
 * millisecond would link tickets that one client got together.
 */
export const roundedExpiry = (expiresAt: number): number => Math.ceil(expiresAt / hourMs) * hourMs;

const prefix = 'sotto_tkt_';
const purpose = 'sotto ticket v1';
/**
 * Smaller envelopes are not compressed, because that costs more time than the shorter header saves. The largest of them fits in twice
 * `leastBytes` with the byte before it.
 */
const deflateAbove = 2047;
/** Tickets are padded to this many bytes, or to twice, four times … as many. */
const leastBytes = 1024;

/** Returns the ticket that the client sends: the envelope, encrypted by control for the broker. */
export function sealTicket(key: Buffer, envelope: TicketEnvelope): string {
  const json = Buffer.from(JSON.stringify(envelope));
  const deflated = json.length > deflateAbove;
  const body = Buffer.concat([Buffer.from([deflated ? 1 : 0]), deflated ? deflateRawSync(json) : json]);
  return prefix + seal(key, filledUp(body), purpose).toString('base64url');
}

/** Pads with trailing spaces, which both JSON and inflate ignore. */
function filledUp(body: Buffer): Buffer {
  const filled = Buffer.alloc(leastBytes * 2 ** Math.max(0, Math.ceil(Math.log2(body.length / leastBytes))), ' ');
  body.copy(filled);
  return filled;
}

/** Decrypts a ticket. Returns undefined if none of these keys encrypted it or its version is unknown. */
export function openTicket(keys: Keys, ticket: string): OpenedTicket | undefined {
  if (!ticket.startsWith(prefix)) return undefined;
  const body = unseal(keys, Buffer.from(ticket.slice(prefix.length), 'base64url'), purpose);
  if (body === undefined) return undefined;
  const json =
    body[0] === 1
      ? inflateRawSync(body.subarray(1), { maxOutputLength: 1 << 20 }).toString('utf8')
      : body.toString('utf8', 1);
  const envelope: { v?: unknown } = JSON.parse(json);
  if (envelope.v !== 1) return undefined;
  // Control encrypted it in this version, so its fields need no validation.
  const { preferences, ...rest } = envelope as TicketEnvelope;
  return { ...rest, preferences: { auto: initialPreferences.auto, ...preferences } };
}

const longestPlain = 64;

function bound(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= longestPlain ? text : hash('sha256', text, 'base64url');
}

/** Whether two `reasoning` bindings are equivalent, in whatever form the requests had them. */
export const isSameReasoningBinding = (one: string, other: string): boolean =>
  one === other || isSameReasoning(selectionOf(one), selectionOf(other));

/** Parses a binding, which is always short enough to be kept unhashed. */
function selectionOf(binding: string): ReasoningSelection {
  const [effort, enabled]: (ReasoningSelection[keyof ReasoningSelection] | null)[] = JSON.parse(binding);
  return {
    ...(typeof effort === 'string' ? { effort } : {}),
    ...(typeof enabled === 'boolean' ? { enabled } : {}),
  };
}

/** Computes the bindings of a request. Control uses the ticket request, the broker uses the body. */
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
