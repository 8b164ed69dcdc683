import { verifyProviderReceipt, verifyReceipt } from '@sotto/attestation';
import { headerNames, parseJson } from '@sotto/wire';
import { readBounded } from '../bounded-body.ts';
import type { GatewaySession } from '../gateway/gateway-session.ts';
import type { ConfidentialPath } from '../service-paths.ts';
import type { EnclaveExchange } from './enclave-exchange.ts';
import { protocolOf } from './verify-enclave.ts';

/** One check of a receipt. */
export type ReceiptCheck = Awaited<ReturnType<typeof verifyReceipt | typeof verifyProviderReceipt>>[number];

/** The checks of the receipts of one exchange. A receipt belongs to the exchange only if all of its checks passed. */
export interface ReceiptReport {
  /** Undefined if there was none. */
  readonly broker: readonly ReceiptCheck[] | undefined;
  /** Undefined if there was none. `none` if the family signs no receipts that this client verifies. */
  readonly enclave: readonly ReceiptCheck[] | 'none' | undefined;
}

export interface ReceiptsAsked {
  readonly session: Pick<GatewaySession, 'send'>;
  readonly exchange: EnclaveExchange;
  /** The header `x-router-receipt` that was sent with the request. */
  readonly secret: string;
  readonly signal?: AbortSignal | undefined;
  /** Resolves after so many ms, or rejects when the signal aborts. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** The enclave signs after its answer has ended, and the broker asks it with pauses. In ms. */
const pausesMs = [500, 1000, 2000, 4000, 8000, 16_000];
/** The time in ms for all of it, and the most bytes of a receipt. */
const patienceMs = 45_000;
const maxReceiptBytes = 256 * 1024;

/**
 * Fetches and verifies both receipts of an exchange: that of the broker, by its attested key, and that of the enclave, by
 * the attested key that the request was encrypted to. The broker is asked by the secret, never control, which would see
 * a key beside the request. Throws the signal's reason after 45 s. A receipt of the enclave shows whether the broker wrote or changed the reply. It does not
 * show whether the broker read the prompt.
 */
export async function checkReceipts(asked: ReceiptsAsked): Promise<ReceiptReport> {
  const { exchange } = asked;
  const { requestSha256, responseSha256, key, keySet } = exchange;
  const patience = AbortSignal.timeout(patienceMs);
  const signal = asked.signal === undefined ? patience : AbortSignal.any([asked.signal, patience]);
  const own = await readReceipt('/v1/inference/receipt', { ...asked, signal });
  const hasBoth = own !== undefined && keySet !== undefined;
  const broker = hasBoth ? await verifyReceipt(own, keySet, { requestSha256, responseSha256 }) : undefined;
  if (!protocolOf(key).signsReceipts) return { broker, enclave: 'none' };
  const path = '/v1/inference/receipt/enclave';
  const signed = await awaitReceipt({ ...asked, signal }, { path, pausesMs, sleep: asked.sleep });
  if (signed === undefined) return { broker, enclave: undefined };
  return { broker, enclave: await verifyProviderReceipt(signed, { requestSha256, responseSha256, key }) };
}

/** Where to ask for a receipt, and with what. */
export type ReceiptQuestion = Pick<ReceiptsAsked, 'session' | 'secret'> & { readonly signal: AbortSignal };

export interface ReceiptPatience {
  /** Default: that of the broker's own receipt. */
  readonly path?: ConfidentialPath<'GET'>;
  /** Before each try but the first, in ms. */
  readonly pausesMs: readonly number[];
  readonly sleep?: ReceiptsAsked['sleep'] | undefined;
  /** Whether a receipt says all that is asked for. Default: any. */
  readonly isReady?: (receipt: unknown) => boolean;
}

/**
 * Asks for a receipt until there is one, also after a failed connection. Resolves to undefined after the last try. Throws the
 * signal's reason.
 */
export async function awaitReceipt(
  question: ReceiptQuestion,
  { path = '/v1/inference/receipt', pausesMs, sleep = wait, isReady = () => true }: ReceiptPatience,
): Promise<unknown> {
  for (const pauseMs of [0, ...pausesMs]) {
    if (pauseMs > 0) await sleep(pauseMs, question.signal);
    const receipt = await readReceipt(path, question).catch(() => undefined);
    question.signal.throwIfAborted();
    if (receipt !== undefined && isReady(receipt)) return receipt;
  }
  return undefined;
}

/** Returns the receipt as parsed JSON, or undefined if there is none. */
async function readReceipt(
  path: ConfidentialPath<'GET'>,
  { session, secret, signal }: ReceiptQuestion,
): Promise<unknown> {
  const answer = await session.send({ method: 'GET', path, headers: { [headerNames.receipt]: secret }, signal });
  const bytes = await readBounded(answer.body, maxReceiptBytes, signal);
  if (answer.status !== 200) return undefined;
  // A receipt that cannot be read is one that fails.
  return parseJson(new TextDecoder().decode(bytes)) ?? null;
}

/** Resolves after so many ms. Rejects with the signal's reason when it aborts. */
const wait = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, ms);
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
  });
