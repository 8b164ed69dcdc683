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
import type { Keys } from './keys.ts';
import { seal, unseal } from './sealed.ts';

/**
 * How a ticket says what it is. The first form says the key's generation, when it expires to the millisecond, and all
 * preferences of the workspace, each of which helps to tell whose ticket it is. The second says none of it, and has one
 * of few lengths. Control mints the second once every broker reads it (`ticketFormFor`).
 */
export type TicketForm = 1 | 2;
export const newestTicketForm = 2;

/** What a ticket binds, each part for its own mismatch error: short texts as they are, long ones as digests. */
export interface TicketBindings {
  readonly operation: Operation | 'attestation';
  readonly model: string;
  readonly reasoning: string;
  readonly policy: string;
  readonly media: string;
}

export interface TicketEnvelope {
  readonly v: TicketForm;
  readonly shard: number;
  /** Of the key and its workspace's preferences; of the second form the mark keeps it. */
  readonly generation?: number;
  /** Unix ms. In the second form later than the ticket expires, see `roundedExpiry`. */
  readonly expiresAt: number;
  readonly bindings: TicketBindings;
  /** Of an attestation ticket: of which enclave evidence may be had. Its request says nothing but a nonce. */
  readonly attestation?: { readonly model: string; readonly provider?: ProviderPolicy | null | undefined };
  /**
   * The workspace's part of the policy: the body's own part is merged into it again, and can only tighten it. In the
   * second form as far as the request goes (`narrowPreferences`), without `auto` unless it is for `/auto`.
   */
  readonly preferences: Omit<RequestPreferences, 'auto'> & Partial<Pick<RequestPreferences, 'auto'>>;
  /** Sealed by control for control alone; of one length, fresh each time. */
  readonly accountRef: string;
}

/** A ticket as a broker plans with it. */
export interface OpenedTicket extends TicketEnvelope {
  readonly preferences: RequestPreferences;
}

const hourMs = 3_600_000;

/**
 * Returns the end of the hour in which a ticket expires, in Unix ms. A ticket of the second form says this time, because
 * tickets that one client buys together would share their millisecond with no others.
 */
export const roundedExpiry = (expiresAt: number): number => Math.ceil(expiresAt / hourMs) * hourMs;

const prefix = 'sotto_tkt_';
const purpose = 'sotto ticket v1';
/** Below this the envelope is sealed as it is: compressing costs more than the header it saves. */
const deflateAbove = 2048;
/** A ticket of the second form is filled up to this many bytes before it is sealed, or to twice, four times … as many. */
const leastBytes = 1024;

/** The string a client presents: the envelope, sealed by control for the broker. */
export function sealTicket(key: Buffer, envelope: TicketEnvelope): string {
  const json = Buffer.from(JSON.stringify(envelope));
  const deflated = json.length > deflateAbove;
  const body = Buffer.concat([Buffer.from([deflated ? 1 : 0]), deflated ? deflateRawSync(json) : json]);
  return prefix + seal(key, envelope.v === 1 ? body : filledUp(body), purpose).toString('base64url');
}

/** With spaces behind it: JSON ignores them, and so does what inflates. */
function filledUp(body: Buffer): Buffer {
  const filled = Buffer.alloc(leastBytes * 2 ** Math.max(0, Math.ceil(Math.log2(body.length / leastBytes))), ' ');
  body.copy(filled);
  return filled;
}

/** Opens a ticket; undefined where it was sealed under none of these keys or is of no form that this version reads. */
export function openTicket(keys: Keys, ticket: string): OpenedTicket | undefined {
  if (!ticket.startsWith(prefix)) return undefined;
  const body = unseal(keys, Buffer.from(ticket.slice(prefix.length), 'base64url'), purpose);
  if (body === undefined) return undefined;
  const json =
    body[0] === 1
      ? inflateRawSync(body.subarray(1), { maxOutputLength: 1 << 20 }).toString('utf8')
      : body.toString('utf8', 1);
  const envelope: { v?: unknown } = JSON.parse(json);
  if (envelope.v !== 1 && envelope.v !== 2) return undefined;
  // Control sealed it, and `v` says in which form: its fields are not validated again.
  const { preferences, ...rest } = envelope as TicketEnvelope;
  return { ...rest, preferences: { auto: initialPreferences.auto, ...preferences } };
}

const longestPlain = 64;

function bound(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= longestPlain ? text : hash('sha256', text, 'base64url');
}

/** Whether two `reasoning` bindings ask for the same, however each request wrote it. */
export const isSameReasoningBinding = (one: string, other: string): boolean =>
  one === other || isSameReasoning(selectionOf(one), selectionOf(other));

/** Reads a binding back. It is always short enough to be kept as it is. */
function selectionOf(binding: string): ReasoningSelection {
  const [effort, enabled]: (ReasoningSelection[keyof ReasoningSelection] | null)[] = JSON.parse(binding);
  return {
    ...(typeof effort === 'string' ? { effort } : {}),
    ...(typeof enabled === 'boolean' ? { enabled } : {}),
  };
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
