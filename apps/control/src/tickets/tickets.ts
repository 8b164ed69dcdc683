import { ticketContracts } from '@sotto/contract/control/tickets';
import { type AdmissionPort, openReceipt, type ReceiptPort, receiptIdOf, shardOfWallet } from '@sotto/state';
import { forbiddenKind, ServiceError } from '@sotto/wire';
import type { Address } from '../connect-to.ts';
import { checkingRemembered } from '../credentials/api-credentials.ts';
import type { PresentedKey } from '../credentials/presented-key.ts';
import type { Domain, RouteContext } from '../domain.ts';
import { askBroker } from './ask-broker.ts';
import { mintAttestationTicket, mintTicket, type TicketDependencies } from './mint-ticket.ts';

export interface TicketsDependencies extends TicketDependencies {
  readonly state: TicketDependencies['state'] & ReceiptPort & Pick<AdmissionPort, 'countRefusal'>;
  /** The broker’s public origin. */
  readonly confidentialOrigin: string;
  /** Where to reach the broker, if its origin's name leads elsewhere. */
  readonly confidentialAddress?: Address | undefined;
}

/** Counts a request for a ticket that the rights of its key refuse. The answer to a key that was remembered is asked for again. */
async function countingForbidden<T>(
  { state }: Pick<TicketsDependencies, 'state'>,
  { keyHash, walletId, rememberedBy }: PresentedKey,
  mint: () => Promise<T>,
): Promise<T> {
  try {
    return await mint();
  } catch (error) {
    const kind = rememberedBy === undefined ? forbiddenKind(error) : undefined;
    const right = { kind: 'key', keyHash } as const;
    if (kind !== undefined) state.countRefusal({ shard: shardOfWallet(walletId), right, kind }).catch(() => {});
    throw error;
  }
}

/** `preq_` and 128 bits of base64url. */
const providerRequestId = /^preq_[\w-]{16,64}$/;

export const buildTickets = (deps: TicketsDependencies): Domain => ({
  register: (context) => serveTickets(context, deps),
});

/** Serves tickets, and the evidence and receipts of providers’ enclaves. */
function serveTickets({ app, serve, credentials }: RouteContext, deps: TicketsDependencies): void {
  serve(ticketContracts)({
    'POST /v1/inference/tickets': async ({ caller, body, request, reply }) => {
      await app.countFurther(request, reply, (body.count ?? 1) - 1);
      return checkingRemembered(credentials, { request, caller }, (key) =>
        countingForbidden(deps, key, () => mintTicket(deps, key, body)),
      );
    },

    'POST /v1/inference/attestation-tickets': ({ caller, body }) => mintAttestationTicket(deps, caller, body),

    'GET /v1/tee/attestation': async ({ caller, query: { model, provider, nonce }, reply }) => {
      const { ticket } = await mintAttestationTicket(deps, caller, { model, provider });
      const { confidentialOrigin: origin, confidentialAddress: address } = deps;
      const document = await askBroker({ origin, address, ticket, nonce });
      return reply.type('application/json; charset=utf-8').send(document);
    },

    'GET /v1/tee/signature/{providerRequestId}': async ({ params: { providerRequestId: id }, reply }) => {
      const sealed = providerRequestId.test(id) ? await deps.state.readReceipt('provider', receiptIdOf(id)) : undefined;
      const receipt = sealed && openReceipt(id, sealed);
      if (receipt === undefined) {
        throw new ServiceError('not_found', {
          message:
            'There is no receipt of this id. The enclave signs after its answer has ended: try again for a minute. ' +
            'Receipts are kept for an hour, and not every provider gives them.',
        });
      }
      return reply.type('application/json; charset=utf-8').send(receipt);
    },

    // Only the broker gives evidence in exchange for a ticket.
    'POST /v1/tee/attestation': async () => {
      throw new ServiceError('not_found', {
        message: 'By ticket, evidence is given at the confidential origin. Here it takes `GET` with an inference key.',
      });
    },
  });
}
