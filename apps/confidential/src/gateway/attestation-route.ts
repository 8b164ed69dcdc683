import { gatewayContracts } from '@sotto/contract/confidential/attestation';
import { type AddressLimit, serveRoutes } from '@sotto/server';
import { headerNames, nonceSchema, ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type { GatewayAttestation } from './gateway-attestation.ts';

export interface AttestationRouteDependencies {
  readonly attestation: GatewayAttestation;
  readonly limit: AddressLimit;
}

const example = 'for example `?nonce=$(openssl rand -hex 32)`';

/**
 * Serves `GET /v1/gateway/attestation?nonce=`, which gives evidence about this broker to any caller
 * (docs/use/verifying.md).
 */
export function serveGatewayAttestation(
  app: FastifyInstance,
  { attestation, limit }: AttestationRouteDependencies,
): void {
  serveRoutes(app)(gatewayContracts)({
    'GET /v1/gateway/attestation': async ({ request, query, reply }) => {
      // Pages verify, too, and the answer holds nothing that is meant for one origin only.
      reply
        .header('access-control-allow-origin', '*')
        .header('access-control-expose-headers', `retry-after, ${headerNames.requestId}`);
      const retryAfterS = limit.take(request.ip);
      if (retryAfterS !== undefined) throw new ServiceError('rate_limited', { retryAfterS });
      const nonce = readNonce(query);
      const document = await attestation.evidenceFor(nonce, () => !request.raw.socket.destroyed);
      reply.header(headerNames.requestId, request.id);
      return document;
    },
  });
}

function readNonce({ nonce }: { readonly nonce?: unknown }): string {
  const refuse = (what: string): ServiceError =>
    new ServiceError('invalid_request', { message: `The query parameter \`nonce\` ${what}.`, param: 'nonce' });
  if (nonce === undefined) throw refuse(`is required: exactly 64 hex digits, fresh for each verification, ${example}`);
  if (typeof nonce !== 'string') throw refuse('must be given exactly once');
  const parsed = nonceSchema.safeParse(nonce);
  if (parsed.success) return parsed.data;
  throw refuse(`must be exactly 64 hex digits, without \`0x\`, fresh for each verification, ${example}`);
}
