import { verifyProviderReceipt, verifyReceipt } from '@sotto/attestation';
import { headerNames, parseJson } from '@sotto/wire';
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
  readonly session: Pick<GatewaySession, 'send' | 'verified'>;
  readonly exchange: EnclaveExchange;
  /** The header `x-router-receipt` that was sent with the request. */
  readonly secret: string;
  readonly signal?: AbortSignal | undefined;
  /** Resolves after so many ms. */
  readonly sleep?: (ms: number) => Promise<void>;
}

/** The enclave signs after its answer has ended, and the broker asks it with pauses. In ms. */
const pausesMs = [500, 1000, 2000, 4000, 8000, 16_000];

/**
 * Fetches and verifies both receipts of an exchange: that of the broker, by its attested key, and that of the enclave, by
 * the attested key that the request was encrypted to. The broker is asked by the secret, never control, which would see
 * a key beside the request. A receipt of the enclave shows whether the broker wrote or changed the reply. It does not
 * show whether the broker read the prompt.
 */
export async function checkReceipts(asked: ReceiptsAsked): Promise<ReceiptReport> {
  const { session, exchange } = asked;
  const { requestSha256, responseSha256, key } = exchange;
  const { keySet } = await session.verified(asked.signal);
  const own = await read('/v1/inference/receipt', asked);
  const broker = own && keySet ? await verifyReceipt(own, keySet, { requestSha256, responseSha256 }) : undefined;
  if (!protocolOf(key).signsReceipts) return { broker, enclave: 'none' };
  const signed = await awaited('/v1/inference/receipt/enclave', asked);
  if (signed === undefined) return { broker, enclave: undefined };
  return { broker, enclave: await verifyProviderReceipt(signed, { requestSha256, responseSha256, key }) };
}

async function awaited(path: ConfidentialPath<'GET'>, asked: ReceiptsAsked): Promise<unknown> {
  const { sleep = wait, signal } = asked;
  for (const pauseMs of [0, ...pausesMs]) {
    if (pauseMs > 0) await sleep(pauseMs);
    signal?.throwIfAborted();
    const receipt = await read(path, asked);
    if (receipt !== undefined) return receipt;
  }
  return undefined;
}

/** Returns the receipt, or undefined if there is none. */
async function read(path: ConfidentialPath<'GET'>, { session, secret, signal }: ReceiptsAsked): Promise<unknown> {
  const answer = await session.send({ method: 'GET', path, headers: { [headerNames.receipt]: secret }, signal });
  const text = await answer.toResponse().text();
  return answer.status === 200 ? (parseJson(text) ?? null) : undefined;
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
