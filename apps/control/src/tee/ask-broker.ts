import { type ErrorType, errorTable, headerNames, ServiceError } from '@sotto/wire';
import { z } from 'zod';

const timeoutMs = 45_000;
const maxBytes = 16 * 1024 * 1024;
const failureSchema = z.object({
  error: z.object({ message: z.string().max(2000), type: z.string(), param: z.string().optional() }),
});

export interface BrokerQuestion {
  /** The broker's public origin. */
  readonly origin: string;
  readonly ticket: string;
  readonly nonce: string;
}

/** Asks the broker's public `POST /tee/attestation`, as anybody would. Throws the broker's own refusal. */
export async function askBroker({ origin, ticket, nonce }: BrokerQuestion): Promise<Buffer> {
  const unavailable = new ServiceError('service_unavailable', {
    message: 'The confidential origin could not be asked for evidence. Try again shortly.',
  });
  const answer = await fetch(`${origin}/v1/tee/attestation`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', [headerNames.ticket]: ticket },
    body: JSON.stringify({ nonce }),
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  }).catch(() => {
    throw unavailable;
  });
  const body = await readBounded(answer).catch(() => {
    throw unavailable;
  });
  if (answer.status === 200) return body;
  const failure = failureSchema.safeParse(jsonOf(body));
  if (!failure.success || !isErrorType(failure.data.error.type)) throw unavailable;
  const { type, message, param } = failure.data.error;
  const retryAfterS = Number(answer.headers.get('retry-after') ?? Number.NaN);
  throw new ServiceError(type, { message, param, ...(Number.isFinite(retryAfterS) ? { retryAfterS } : {}) });
}

async function readBounded(answer: Response): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of answer.body ?? []) {
    bytes += piece.length;
    if (bytes > maxBytes) throw new Error('too large');
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

const isErrorType = (type: string): type is ErrorType => Object.hasOwn(errorTable, type);
