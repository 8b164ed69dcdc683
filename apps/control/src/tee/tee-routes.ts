import { openReceipt, type ReceiptPort, receiptIdOf } from '@sotto/state';
import { parseRequest, ServiceError, teeAttestationQuerySchema } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { requireKey } from '../credentials/api-credentials.ts';
import { mintAttestationTicket } from '../tickets/attestation-tickets.ts';
import type { TicketDependencies } from '../tickets/ticket-routes.ts';
import { askBroker } from './ask-broker.ts';

export interface TeeDependencies extends TicketDependencies {
  readonly receipts: ReceiptPort;
  /** The broker's public origin. */
  readonly confidentialOrigin: string;
}

/** `preq_` and 128 bits of base64url. */
const providerRequestId = /^preq_[\w-]{16,64}$/;

/** Evidence and receipts of providers' enclaves for whoever holds an inference key (interface 4.2). */
export function registerTee(app: FastifyInstance, deps: TeeDependencies): void {
  app.get('/v1/tee/attestation', { config: deps.rateLimit }, async (request, reply) => {
    const key = await requireKey(deps.credentials, request, ['inference']);
    const { model, provider, nonce } = parseRequest(teeAttestationQuerySchema, request.query);
    const { ticket } = await mintAttestationTicket(deps, key, { model, provider });
    const document = await askBroker({ origin: deps.confidentialOrigin, ticket, nonce });
    return reply.header('cache-control', 'no-store').type('application/json; charset=utf-8').send(document);
  });

  // The same path by ticket is the broker's alone (interface 1).
  app.post('/v1/tee/attestation', () => {
    throw new ServiceError('not_found', {
      message: 'By ticket, evidence is given at the confidential origin. Here it takes `GET` with an inference key.',
    });
  });

  app.get<{ Params: { providerRequestId: string } }>(
    '/v1/tee/signature/:providerRequestId',
    { config: deps.rateLimit },
    async (request, reply) => {
      await requireKey(deps.credentials, request, ['inference']);
      const id = request.params.providerRequestId;
      const sealed = providerRequestId.test(id)
        ? await deps.receipts.readReceipt('provider', receiptIdOf(id))
        : undefined;
      const receipt = sealed && openReceipt(id, sealed);
      if (receipt === undefined) {
        throw new ServiceError('not_found', {
          message:
            'There is no receipt of this id. The enclave signs after its answer has ended: try again for a minute. ' +
            'Receipts are kept for an hour, and not every provider gives them.',
        });
      }
      return reply.header('cache-control', 'no-store').type('application/json; charset=utf-8').send(receipt);
    },
  );
}
