import { sha256 } from '@noble/hashes/sha2.js';
import { type Bytes, evidenceBytes, fromHex, sameBytes, toHex } from '../bytes.ts';
import { parseEventLog, replay } from '../dstack/event-log.ts';
import { identityFromEvents } from '../dstack/identity.ts';
import { measuredIdentity } from '../dstack/pinned-identity.ts';
import { Refusal } from '../refusal.ts';
import { parseSnpReport } from '../snp/report.ts';
import { parseTdxQuote } from '../tdx/quote.ts';

/** A pin of a dstack machine, and what else its log says. */
export interface DstackMeasurement {
  readonly pin: {
    readonly mr_td: string;
    readonly rtmr0: string;
    readonly rtmr1: string;
    readonly rtmr2: string;
    readonly compose_hash: string;
    readonly app_id: string;
    readonly key_provider: string;
  };
  /** The digest that the machine logged of its OS image. MRTD and RTMR0 to RTMR2 pin the image itself. */
  readonly osImageHash: string | undefined;
  /** The digest of the compose file that the recorded machine ran. */
  readonly recordedComposeHash: string;
}

/**
 * Reads the pin of a dstack machine from its quote and event log. It replays the log, which must lead to the four registers of
 * the quote. The identity comes from the log, because RTMR3 also covers an id of the instance. Verifies no signature.
 *
 * @param recorded - A document of `GET /v1/gateway/attestation`, or an answer of dstack's `GetQuote`.
 * @param appCompose - The compose file to pin instead of the recorded one.
 */
export function readDstackMachine(recorded: unknown, appCompose: Bytes | undefined): DstackMeasurement {
  const { quote, event_log: eventLog } = evidenceIn(recorded);
  if (typeof quote !== 'string' || eventLog === undefined) {
    throw new Refusal('the recording has no `quote` and `event_log`: it is not evidence of a dstack machine with TDX');
  }
  const { mrTd, rtmrs } = parseTdxQuote(quoteBytes(quote)).report;
  const events = parseEventLog(eventLog);
  const wrong = rtmrs.findIndex((register, index) => !sameBytes(replay(events, index), register));
  if (wrong !== -1) throw new Refusal(`the event log does not lead to RTMR${wrong} of the quote`);
  const identity = identityFromEvents(events);
  const { compose_hash: recordedComposeHash = '', app_id, key_provider } = measuredIdentity(identity);
  if (app_id === undefined || key_provider === undefined) {
    throw new Refusal(`the event log has no ${app_id === undefined ? 'app id' : 'key provider'}`);
  }
  const [rtmr0, rtmr1, rtmr2] = rtmrs.map(toHex) as [string, string, string];
  const compose_hash = appCompose === undefined ? recordedComposeHash : toHex(sha256(appCompose));
  return {
    pin: { mr_td: toHex(mrTd), rtmr0, rtmr1, rtmr2, compose_hash, app_id, key_provider },
    osImageHash: identity.osImageHash,
    recordedComposeHash,
  };
}

/**
 * Returns what recorded evidence says about the machine, by the names of pins: a TDX quote or a SEV-SNP report. Verifies no
 * signature.
 */
export function recordedValues(recorded: unknown): Readonly<Record<string, string>> {
  const { quote, report } = evidenceIn(recorded);
  if (typeof quote === 'string') {
    const { mrTd, rtmrs } = parseTdxQuote(quoteBytes(quote)).report;
    return { mr_td: toHex(mrTd), ...Object.fromEntries(rtmrs.map((value, index) => [`rtmr${index}`, toHex(value)])) };
  }
  if (typeof report !== 'string') throw new Refusal('the recording has no `quote` of TDX and no `report` of SEV-SNP');
  const { measurement, hostData } = parseSnpReport(evidenceBytes(report));
  return { measurement: toHex(measurement), host_data: toHex(hostData) };
}

interface Recording {
  readonly quote?: unknown;
  readonly event_log?: unknown;
  readonly report?: unknown;
}

/** A gateway's document has its evidence in a field. dstack's answer is the evidence. */
function evidenceIn(recorded: unknown): Recording {
  const { evidence = recorded } = (recorded ?? {}) as { readonly evidence?: unknown };
  return (evidence ?? {}) as Recording;
}

/** dstack writes quotes in hex, Sotto's documents in base64. */
const quoteBytes = (quote: string): Bytes =>
  /^(?:[0-9a-f]{2})+$/i.test(quote) ? fromHex(quote, 'the quote') : evidenceBytes(quote);
