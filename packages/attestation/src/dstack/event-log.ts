import { sha384 } from '@noble/hashes/sha2.js';
import * as z from 'zod';
import { type Bytes, concatBytes, fromHex, sameBytes } from '../bytes.ts';
import { parseJson, Refusal, readOrRefuse } from '../refusal.ts';
import { canonicalJson } from '../statement/canonical-json.ts';

const runtimeEventType = 0x0800_0001;
const utf8 = new TextEncoder();

const eventSchema = z.object({
  imr: z.int().min(0).max(3),
  event_type: z.int().min(0).max(0xffff_ffff),
  digest: z.string().max(96),
  event: z.string().max(256),
  event_payload: z.string().max(131_072),
  version: z.union([z.literal(1), z.literal(2)]).optional(),
  preimage: z.string().max(131_072).optional(),
});
const eventLogSchema = z.array(eventSchema).max(4096);
const maximumText = 4_194_304;
type LoggedEvent = z.infer<typeof eventSchema>;

/** One measured event. Only runtime events have `name` and `payload`; boot events are only a digest. */
export interface MeasuredEvent {
  /** The register that it extended: 0 to 3. */
  readonly register: number;
  readonly digest: Uint8Array;
  readonly runtime: { readonly name: string; readonly payload: Bytes } | undefined;
}

/**
 * Reads dstack's event log: an array, or JSON text of one. Computes the digest of a runtime event from its name and
 * payload. If the log states a digest, it must be equal.
 */
export function parseEventLog(eventLog: unknown): MeasuredEvent[] {
  const list = typeof eventLog === 'string' ? parseText(eventLog) : eventLog;
  return readOrRefuse(eventLogSchema, list, 'the event log is not a list of events').map(measure);
}

function parseText(text: string): unknown {
  if (text.length > maximumText) throw new Refusal('the event log is too large');
  return parseJson(text, 'the event log');
}

function measure(logged: LoggedEvent): MeasuredEvent {
  const isRuntime = logged.event_type === runtimeEventType;
  if (isRuntime !== (logged.imr === 3))
    throw new Refusal('the event log has an event in a register it does not belong to');
  if (!isRuntime) {
    return { register: logged.imr, digest: fromHex(logged.digest, 'the digest of an event', 48), runtime: undefined };
  }
  const payload = fromHex(logged.event_payload, 'the payload of an event');
  const digest = sha384(preimageOf(logged, payload));
  const claimed = logged.digest === '' ? digest : fromHex(logged.digest, 'the digest of an event', 48);
  if (!sameBytes(claimed, digest)) {
    throw new Refusal(`the digest of event ${JSON.stringify(logged.event)} is not that of its content`);
  }
  return { register: 3, digest, runtime: { name: logged.event, payload } };
}

/** The bytes that a runtime event's digest covers: concatenated bytes (version 1), or canonical JSON (version 2). */
function preimageOf(logged: LoggedEvent, payload: Bytes): Uint8Array {
  if (logged.version !== 2 && logged.preimage === undefined) {
    const type = new Uint8Array(4);
    new DataView(type.buffer).setUint32(0, runtimeEventType, true);
    return concatBytes(type, utf8.encode(`:${logged.event}:`), payload);
  }
  const document = { name: logged.event, payload: logged.event_payload.toLowerCase(), type: runtimeEventType };
  const canonical = canonicalJson(document);
  if (logged.preimage !== undefined && logged.preimage !== canonical) {
    throw new Refusal(`the preimage of event ${JSON.stringify(logged.event)} is not its canonical form`);
  }
  return utf8.encode(canonical);
}

/** The value of one register after its events: 48 bytes, starting from zeros. */
export function replay(events: readonly MeasuredEvent[], register: number): Uint8Array {
  return events
    .filter((event) => event.register === register)
    .reduce<Uint8Array>((value, { digest }) => sha384(concatBytes(value, digest)), new Uint8Array(48));
}
