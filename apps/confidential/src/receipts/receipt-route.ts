import { pathOf } from '@sotto/contract';
import type { ConfidentialContracts } from '@sotto/contract/confidential';
import type { AddressLimit } from '@sotto/server';
import { openReceipt, type ReceiptPort, receiptIdOf } from '@sotto/state';
import { headerNames, ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { readReceiptSecret } from './request-receipt.ts';

export interface ReceiptRouteDependencies {
  readonly state: ReceiptPort;
  /** Of requests for a receipt that does not exist. */
  readonly limit: AddressLimit;
}

/**
 * Registers `GET /v1/inference/receipt`. It returns the receipt of the request that was sent with the same
 * `x-router-receipt`, for an hour. Unknown and expired receipts look the same.
 */
export function registerReceipts(app: FastifyInstance, { state, limit }: ReceiptRouteDependencies): void {
  app.get(pathOf<ConfidentialContracts>('GET /v1/inference/receipt'), async (request, reply) => {
    const secret = readReceiptSecret(request.headers);
    if (secret === undefined) {
      throw new ServiceError('invalid_request', {
        message: `The header \`${headerNames.receipt}\` is required: the one that the request was sent with.`,
      });
    }
    const sealed = await state.readReceipt('gateway', receiptIdOf(secret));
    const document = sealed && openReceipt(secret, sealed);
    if (document === undefined) {
      // Only a wrong secret counts, so that others at an address, such as the exit of a relay, do not lock owners out.
      const retryAfterS = limit.take(request.ip);
      if (retryAfterS !== undefined) throw new ServiceError('rate_limited', { retryAfterS });
      throw new ServiceError('not_found', { message: 'There is no receipt under this secret, or no longer.' });
    }
    return reply
      .header('cache-control', 'no-store')
      .header('x-request-id', request.id)
      .type('application/json; charset=utf-8')
      .send(document);
  });
}
