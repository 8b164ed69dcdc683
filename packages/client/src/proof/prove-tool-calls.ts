import { sha256 } from '@noble/hashes/sha2.js';
import type { KeySet } from '@sotto/attestation';
import { parseExact } from '@sotto/dialects';
import { asObject, headerNames, operationAt } from '@sotto/wire';
import { secureRandom, toHex, utf8 } from '../e2ee/bytes.ts';
import { sha256Of } from '../enclave/enclave-exchange.ts';
import { ClientError } from '../errors.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import type { AskedRequest, Exchange } from '../private/private-exchange.ts';
import { eventsAnew, isEventStream, rewritten, rewrittenWhole } from '../proxy/rewritten-answer.ts';
import { type ReceiptProofParts, type SeenExchange, unprovenBecause } from './receipt-proof.ts';
import { isOnlyShown } from './shown-fields.ts';
import { ToolCallGate } from './tool-call-gate.ts';

/** One request that was sent, with the way to its proof. */
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
    return isEventStream(answer) ? rewritten(answer, gated(answer, sent)) : whole(answer, sent, signal);
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

const unproven = (reason: string): ClientError =>
  new ClientError('tool_call_unproven', undefined, { detail: `Reason: ${reason}.` });

function gated({ status, body }: ContentAnswer, { prove }: Sent): AsyncIterable<Uint8Array> {
  const gate = new ToolCallGate();
  const hash = sha256.create();
  return eventsAnew(body, {
    bytes: (piece) => void hash.update(piece),
    event: (event) => gate.take(event),
    async end() {
      if (!gate.holds) return '';
      const reason = await prove({ status, responseSha256: toHex(hash.digest()) });
      if (reason !== undefined) throw unproven(reason);
      return gate.release();
    },
  });
}

const whole = (answer: ContentAnswer, { prove }: Sent, signal: AbortSignal): Promise<ContentAnswer> =>
  rewrittenWhole(answer, signal, async (bytes) => {
    const text = new TextDecoder().decode(bytes);
    const read = asObject(parseExact(text));
    if (read === undefined || !isOnlyShown(read)) {
      const reason = await prove({ status: answer.status, responseSha256: sha256Of(bytes) });
      if (reason !== undefined) throw unproven(reason);
    }
    return read === undefined ? text : JSON.stringify(read);
  });
