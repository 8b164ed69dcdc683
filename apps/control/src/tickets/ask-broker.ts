import type { PathOf } from '@sotto/contract';
import type { ConfidentialContracts } from '@sotto/contract/confidential';
import { postJson } from '@sotto/server';
import { type ErrorType, errorTable, headerNames, parseJson, ServiceError } from '@sotto/wire';
import * as z from 'zod';
import { type Address, connectTo } from '../connect-to.ts';

const limits = { timeoutMs: 45_000, maxBytes: 16 * 1024 * 1024 };
const failureSchema = z.object({
  error: z.object({ message: z.string().max(2000), type: z.string(), param: z.string().nullish() }),
});

export interface BrokerQuestion {
  /** The broker’s public origin. */
  readonly origin: string;
  /** Where to connect, if the origin's name leads elsewhere. */
  readonly address?: Address | undefined;
  readonly ticket: string;
  readonly nonce: string;
}

/**
 * Calls the broker’s public `POST /tee/attestation`, as any client would. Throws the broker’s own error.
 *
 * It does not verify the TLS certificate, because the broker creates its key itself and may lack a certificate from an
 * authority. That is safe here: the ticket permits only this evidence, and the client verifies the evidence.
 */
export async function askBroker({ origin, address, ticket, nonce }: BrokerQuestion): Promise<Buffer> {
  const unavailable = new ServiceError('service_unavailable', {
    message: 'The confidential origin could not be asked for evidence. Try again shortly.',
  });
  const url = new URL('/v1/tee/attestation' satisfies PathOf<ConfidentialContracts, 'POST'>, origin);
  const options = connectTo(url, address);
  const headers = { ...options.headers, [headerNames.ticket]: ticket };
  const answer = await postJson(url, JSON.stringify({ nonce }), {
    ...limits,
    ...options,
    headers,
    rejectUnauthorized: false,
  }).catch(() => {
    throw unavailable;
  });
  if (answer.status === 200) return answer.body;
  const failure = failureSchema.safeParse(parseJson(answer.body.toString('utf8')));
  if (!failure.success || !isErrorType(failure.data.error.type)) throw unavailable;
  const { type, message, param } = failure.data.error;
  const retryAfterS = Number(answer.headers['retry-after'] ?? Number.NaN);
  throw new ServiceError(type, {
    message,
    param: param ?? undefined,
    ...(Number.isFinite(retryAfterS) ? { retryAfterS } : {}),
  });
}

const isErrorType = (type: string): type is ErrorType => Object.hasOwn(errorTable, type);
