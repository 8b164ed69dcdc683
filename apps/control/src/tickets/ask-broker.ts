import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
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
export async function askBroker(question: BrokerQuestion): Promise<Buffer> {
  const unavailable = new ServiceError('service_unavailable', {
    message: 'The confidential origin could not be asked for evidence. Try again shortly.',
  });
  const answer = await post(question).catch(() => {
    throw unavailable;
  });
  if (answer.status === 200) return answer.body;
  const failure = failureSchema.safeParse(jsonOf(answer.body));
  if (!failure.success || !isErrorType(failure.data.error.type)) throw unavailable;
  const { type, message, param } = failure.data.error;
  const { retryAfterS } = answer;
  throw new ServiceError(type, { message, param, ...(Number.isFinite(retryAfterS) ? { retryAfterS } : {}) });
}

interface BrokerAnswer {
  readonly status: number;
  readonly retryAfterS: number;
  readonly body: Buffer;
}

/**
 * The broker's TLS key is made inside it and may be vouched for by no authority. Here it needs none: the ticket buys
 * nothing but this evidence, and the evidence is verified by whoever asked for it.
 */
function post({ origin, ticket, nonce }: BrokerQuestion): Promise<BrokerAnswer> {
  const url = new URL('/v1/tee/attestation', origin);
  const body = JSON.stringify({ nonce });
  const options = {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      [headerNames.ticket]: ticket,
    },
    signal: AbortSignal.timeout(timeoutMs),
  };
  return new Promise((resolve, reject) => {
    const read = (answer: IncomingMessage): void => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      answer.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > maxBytes) answer.destroy(new Error('too large'));
        else pieces.push(piece);
      });
      answer.on('error', reject);
      answer.on('end', () => {
        const retryAfterS = Number(answer.headers['retry-after'] ?? Number.NaN);
        resolve({ status: answer.statusCode ?? 0, retryAfterS, body: Buffer.concat(pieces) });
      });
    };
    const asked =
      url.protocol === 'https:'
        ? httpsRequest(url, { ...options, rejectUnauthorized: false, agent: false }, read)
        : httpRequest(url, { ...options, agent: false }, read);
    asked.on('error', reject);
    asked.end(body);
  });
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

const isErrorType = (type: string): type is ErrorType => Object.hasOwn(errorTable, type);
