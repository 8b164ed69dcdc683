import { receiptContracts } from '@sotto/contract/confidential/receipts';
import { type AddressLimit, type RouteCall, serveRoutes } from '@sotto/server';
import { openReceipt, type ReceiptKind, type ReceiptPort, receiptIdOf } from '@sotto/state';
import { headerNames, ServiceError } from '@sotto/wire';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { readReceiptSecret } from './receipt-secret.ts';

export interface ReceiptRouteDependencies {
  readonly state: ReceiptPort;
  /** Of requests for a receipt that does not exist. */
  readonly limit: AddressLimit;
}

/**
 * Serves the routes that return the receipts of the request that was sent with the same `x-router-receipt`, for an
 * hour: the broker's own, and that of the provider's enclave. Unknown and expired receipts look the same.
 */
export const serveReceipts = (app: FastifyInstance, deps: ReceiptRouteDependencies): void =>
  serveRoutes(app)(receiptContracts)({
    'GET /v1/inference/receipt': sendReceipt(deps, 'gateway'),
    'GET /v1/inference/receipt/enclave': sendReceipt(deps, 'provider'),
  });

const sendReceipt =
  ({ state, limit }: ReceiptRouteDependencies, kind: ReceiptKind) =>
  async ({ request, reply }: Pick<RouteCall<unknown>, 'request' | 'reply'>): Promise<FastifyReply> => {
    const secret = readReceiptSecret(request.headers);
    if (secret === undefined) {
      throw new ServiceError('invalid_request', {
        message: `The header \`${headerNames.receipt}\` is required: the one that the request was sent with.`,
      });
    }
    const sealed = await state.readReceipt(kind, receiptIdOf(secret));
    const document = sealed && openReceipt(secret, sealed);
    if (document === undefined) {
      // Only a wrong secret counts, so that others at an address, such as the exit of a relay, do not lock owners out.
      const isOwner = kind === 'provider' && (await state.readReceipt('gateway', receiptIdOf(secret))) !== undefined;
      const retryAfterS = isOwner ? undefined : limit.take(request.ip);
      if (retryAfterS !== undefined) throw new ServiceError('rate_limited', { retryAfterS });
      throw new ServiceError('not_found', { message: absences[kind] });
    }
    return reply.header('x-request-id', request.id).type('application/json; charset=utf-8').send(document);
  };

const absences: Readonly<Record<ReceiptKind, string>> = {
  gateway: 'There is no receipt under this secret, or no longer.',
  provider:
    'There is no receipt of an enclave under this secret, or no longer. The enclave signs after its answer has ended: ' +
    'try again for a minute. Not every provider gives receipts.',
};
