import { type KeySet, receiptSchema, verifyReceipt } from '@sotto/attestation';
import { awaitReceipt } from '../enclave/check-receipts.ts';
import type { GatewaySession } from '../gateway/gateway-session.ts';

/** One exchange as this client saw it. */
export interface SeenExchange {
  /** SHA-256 of the body that was sent, and of the one that came back: 64 lower-case hex digits. */
  readonly requestSha256: string;
  readonly responseSha256: string;
  readonly status: number;
}

export interface ReceiptProofParts {
  readonly session: Pick<GatewaySession, 'send' | 'verified'>;
  /** For tests. Resolves after so many ms, or rejects when the signal aborts. */
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
}

/**
 * The receipt is ready before the end of the answer leaves the broker, unless the broker's shared state was slow. Times in
 * ms.
 */
const pausesMs = [250, 500, 1000, 2000, 4000];
const patienceMs = 10_000;

/**
 * Fetches the broker's receipt by its secret, and compares it with the exchange. Resolves to undefined if it proves the
 * exchange, else to the reason as the end of a sentence. Throws the signal's reason.
 *
 * @param before - the attested key set from before the request was sent. A broker that restarted since has another one.
 */
export async function unprovenBecause(
  exchange: SeenExchange,
  { secret, before }: { readonly secret: string; readonly before: KeySet | undefined },
  { session, sleep, signal: leaving }: ReceiptProofParts & { readonly signal: AbortSignal },
): Promise<string | undefined> {
  const patience = AbortSignal.timeout(patienceMs);
  const signal = AbortSignal.any([leaving, patience]);
  try {
    const receipt = await awaitReceipt({ session, secret, signal }, { pausesMs, sleep });
    if (receipt === undefined) return absent;
    const now = await session.verified(signal).catch(() => undefined);
    const keySets = [before, now?.keySet].filter((keySet) => keySet !== undefined);
    return await judge(receipt, keySets, exchange);
  } catch (error) {
    leaving.throwIfAborted();
    if (patience.aborted) return absent;
    throw error;
  }
}

const absent = `the broker gave no receipt within ${patienceMs / 1000} s`;

/** Any of the key sets may have signed it: this client has verified each. */
async function judge(
  receipt: unknown,
  keySets: readonly KeySet[],
  { requestSha256, responseSha256, status }: SeenExchange,
): Promise<string | undefined> {
  let reason = 'this client has verified no key of the broker';
  for (const keySet of keySets) {
    const checks = await verifyReceipt(receipt, keySet, { requestSha256, responseSha256 });
    // The broker translates a chat in clear, so that check cannot be made.
    const open = checks.find(({ name, outcome }) => name !== 'receipt.unchanged' && outcome !== 'passed');
    if (open === undefined) {
      const { operation, complete, status: signed } = receiptSchema.parse(receipt);
      return operation === 'chat' && complete && signed === status
        ? undefined
        : 'the receipt says that the answer did not come to its end';
    }
    if (open.outcome !== 'passed') reason = `the receipt fails \`${open.name}\`: ${open.reason}`;
    if (open.name !== 'receipt.key') return reason;
  }
  return reason;
}
