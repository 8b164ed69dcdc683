import type { Catalog, Route } from '@sotto/router';
import { sealTicket } from '@sotto/state';
import { initialPreferences } from '@sotto/wire';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { Exchange } from '../admission/exchange.ts';
import type { CallableProvider } from '../providers/provider-set.ts';
import { serveTeeAttestation, type TeeAttestationDependencies } from './tee-attestation-route.ts';

const route = {
  ...{ id: 'm/one@vault', modelId: 'm/one', providerId: 'vault', publicProviderId: 'vault', upstreamModel: 'own' },
  ...{ privacyClass: 'tee', price: { input: 1, output: 1 }, pricing: { input: 1, output: 1 }, rank: 0 },
  ...{ capabilities: {}, parameterRanges: {}, exclusiveParameters: [] },
} as unknown as Route;
const catalog = {
  models: new Map([['m/one', { id: 'm/one', type: 'text', routes: [route] }]]),
} as unknown as Catalog;
const ticketSealingKey = Buffer.alloc(32, 1);

/**
 * Presents a ticket for the enclave of `vault`, the provider as this broker knows it. Returns how often the ticket was
 * taken.
 */
async function present(vault: CallableProvider | undefined) {
  let taken = 0;
  const deps = {
    admission: {
      ...{ ticketSealingKey, now: () => 0, random: () => 0 },
      view: { catalog, status: () => ({ measurements: new Map(), penalized: () => false }) },
      holds: {
        redeem: async () => {
          taken += 1;
          return { result: 'invalid_ticket' };
        },
      },
    },
    providers: { get: () => vault },
  } as unknown as TeeAttestationDependencies;
  type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
  const handlers = new Map<string, Handler>();
  const app = { route: (of: { method: string; handler: Handler }) => handlers.set(of.method, of.handler) };
  serveTeeAttestation(app as unknown as FastifyInstance, deps);
  const ticket = sealTicket(ticketSealingKey, {
    ...{ v: 1, shard: 0, expiresAt: 1, accountRef: 'account', preferences: initialPreferences },
    bindings: { operation: 'chat', model: 'm/one', policy: '', reasoning: {} } as never,
    attestation: { model: 'm/one' },
  });
  const body = Buffer.from(JSON.stringify({ nonce: 'a'.repeat(64) }));
  const request = { headers: { 'x-router-ticket': ticket }, body } as unknown as FastifyRequest;
  const reply = { code: () => reply, header: () => reply } as unknown as FastifyReply;
  request.exchange = new Exchange(request, reply);
  const refused = await handlers
    .get('POST')?.(request, reply)
    .catch((error: unknown) => error);
  return { taken, refused };
}

it('refuses evidence of a provider that it cannot ask before it takes the ticket', async () => {
  for (const vault of [undefined, { entry: {} } as CallableProvider]) {
    expect(await present(vault)).toMatchObject({ taken: 0, refused: { type: 'service_unavailable' } });
  }
  const known = { entry: { attestation: { family: 'near' } } } as CallableProvider;
  expect(await present(known)).toMatchObject({ taken: 1, refused: { type: 'invalid_ticket' } });
});
