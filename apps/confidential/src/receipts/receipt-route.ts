import type { AddressLimit } from '@sotto/http';
import { openReceipt, type ReceiptPort, receiptIdOf } from '@sotto/state';
import { headerNames, ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { readReceiptSecret } from './receipt-secret.ts';

export interface ReceiptRouteDependencies {
  readonly state: ReceiptPort;
  readonly limit: AddressLimit;
}

/**
 * `GET /v1/inference/receipt`: the receipt of the request that was sent with the same `x-router-receipt`, for an hour.
 * One that is unknown and one whose time is up look the same.
 */
export function registerReceipts(app: FastifyInstance, { state, limit }: ReceiptRouteDependencies): void {
  app.get('/v1/inference/receipt', async (request, reply) => {
    const retryAfterS = limit.take(request.ip);
    if (retryAfterS !== undefined) throw new ServiceError('rate_limited', { retryAfterS });
    const secret = readReceiptSecret(request.headers);
    if (secret === undefined) {
      throw new ServiceError('invalid_request', {
        message: `The header \`${headerNames.receipt}\` is required: the one that the request was sent with.`,
      });
    }
    const sealed = await state.readReceipt('gateway', receiptIdOf(secret));
    const document = sealed && openReceipt(secret, sealed);
    if (document === undefined) {
      throw new ServiceError('not_found', { message: 'There is no receipt under this secret, or no longer.' });
    }
    return reply
      .header('cache-control', 'no-store')
      .header('x-request-id', request.id)
      .type('application/json; charset=utf-8')
      .send(document);
  });
}
