import { sha256 } from '@noble/hashes/sha2.js';
import type { KeySet } from '@sotto/attestation';
import { parseExact } from '@sotto/dialects';
import { asObject, errorEnvelope, headerNames, operationAt, SseParser, sseFrame } from '@sotto/wire';
import { answerFrom, answerOfFailure, localId } from '../answer.ts';
import { readBounded } from '../bounded-body.ts';
import { secureRandom, toHex, utf8 } from '../e2ee/bytes.ts';
import { sha256Of } from '../enclave/enclave-exchange.ts';
import { ClientError } from '../errors.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import type { AskedRequest, Exchange } from '../private/private-exchange.ts';
import { rewritten } from '../proxy/rewritten-answer.ts';
import { type ReceiptProofParts, type SeenExchange, unprovenBecause } from './receipt-proof.ts';
import { isOnlyShown } from './shown-fields.ts';
import { ToolCallGate } from './tool-call-gate.ts';

/** Bytes of an answer that is not streamed, at most. */
const maxWholeBytes = 64 * 1024 * 1024;

/** What the proof of one exchange needs besides what came back. */
interface Sent {
  readonly prove: (came: Pick<SeenExchange, 'responseSha256' | 'status'>) => Promise<string | undefined>;
}

/**
 * Hands a tool call on only after a receipt of the verified broker has shown that the broker received this very request and
 * returned this very answer. Text passes as it comes, until the first event that could call a tool. Without the proof, an
 * error with the reason stands in place of the tool call.
 */
export const proveToolCalls = (exchange: Exchange, parts: ReceiptProofParts): Exchange => ({
  async ask(asked) {
    if (asked.method !== 'POST' || operationAt(asked.path) !== 'chat') return exchange.ask(asked);
    const { signal } = asked;
    const secret = asked.header(headerNames.receipt) ?? toHex(secureRandom(32));
    const { keySet } = await parts.session.verified(signal);
    const answer = await exchange.ask(withSecret(asked, secret));
    // No client reads a tool call from an error. Any other status may count as success.
    if (answer.status >= 400) return answer;
    const sent = sentWith({ asked, secret, keySet }, parts);
    return isStream(answer) ? rewritten(answer, gated(answer, sent)) : whole(answer, sent, signal);
  },
});

const withSecret = (asked: AskedRequest, secret: string): AskedRequest => ({
  ...asked,
  header: (name) => (name === headerNames.receipt ? secret : asked.header(name)),
});

function sentWith(
  of: { readonly asked: AskedRequest; readonly secret: string; readonly keySet: KeySet | undefined },
  parts: ReceiptProofParts,
): Sent {
  const { asked, secret, keySet: before } = of;
  const requestSha256 = sha256Of(utf8(asked.body));
  const { signal } = asked;
  return { prove: (came) => unprovenBecause({ requestSha256, ...came }, { secret, before }, { ...parts, signal }) };
}

const isStream = ({ headers }: ContentAnswer): boolean =>
  headers.some(([name, value]) => name === 'content-type' && /^text\/event-stream\b/i.test(value));

const unproven = (reason: string): ClientError =>
  new ClientError('tool_call_unproven', undefined, { detail: `Reason: ${reason}.` });

/** Programs give up an answer from which nothing comes. */
const comment = ': waiting\n\n';

async function* gated({ status, body }: ContentAnswer, { prove }: Sent): AsyncGenerator<Uint8Array> {
  const gate = new ToolCallGate();
  const hash = sha256.create();
  const decoder = new TextDecoder();
  let out = '';
  const parser = new SseParser({
    maxEventChars: maxWholeBytes,
    onEvent: (event) => {
      out += gate.take(event);
    },
  });
  for await (const piece of body) {
    hash.update(piece);
    parser.push(decoder.decode(piece, { stream: true }));
    yield utf8(out === '' ? comment : out);
    out = '';
  }
  parser.push(decoder.decode());
  parser.end();
  if (gate.holds) {
    const reason = gate.isOverfull ? 'it is too large' : await prove({ status, responseSha256: toHex(hash.digest()) });
    out += reason === undefined ? gate.release() : failureEvent(unproven(reason));
  }
  if (out !== '') yield utf8(out);
}

const failureEvent = ({ code: type, message, param }: ClientError): string =>
  sseFrame(JSON.stringify(errorEnvelope({ type, message, param }, localId())));

async function whole(answer: ContentAnswer, { prove }: Sent, signal: AbortSignal): Promise<ContentAnswer> {
  const { status } = answer;
  const bytes = await readBounded(answer.body, maxWholeBytes, signal);
  if (bytes === undefined) return answerFrom(answerOfFailure(unproven('it is too large')));
  const text = new TextDecoder().decode(bytes);
  const read = asObject(parseExact(text));
  if (read === undefined || !isOnlyShown(read)) {
    const reason = await prove({ status, responseSha256: sha256Of(bytes) });
    if (reason !== undefined) return answerFrom(answerOfFailure(unproven(reason)));
  }
  return rewritten(answer, onePiece(read === undefined ? text : JSON.stringify(read)));
}

async function* onePiece(text: string): AsyncGenerator<Uint8Array> {
  yield utf8(text);
}
