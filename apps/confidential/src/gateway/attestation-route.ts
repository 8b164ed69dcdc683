import type { Socket } from 'node:net';
import { gatewayContracts } from '@sotto/contract/confidential/attestation';
import { type AddressLimit, serveRoutes } from '@sotto/server';
import { headerNames, nonceSchema, ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { exportedValue } from './exported-value.ts';
import type { GatewayAttestation } from './gateway-attestation.ts';

export interface AttestationRouteDependencies {
  readonly attestation: GatewayAttestation;
  readonly limit: AddressLimit;
}

const example = 'for example `?nonce=$(openssl rand -hex 32)`';

/**
 * Serves `GET /v1/gateway/attestation?nonce=`, which gives evidence about this broker to any caller
 * (docs/use/verifying.md).
 *
 * With `binding=channel`, the evidence also covers the connection of this request, if it has TLS 1.3. The value comes from
 * the socket, never from the request: a relay could name the value of its own connection to the client.
 */
export function serveGatewayAttestation(
  app: FastifyInstance,
  { attestation, limit }: AttestationRouteDependencies,
): void {
  /** A handshake entitles a connection to evidence about itself, once, because many clients may share one address. */
  const bound = new WeakSet<Socket>();
  serveRoutes(app)(gatewayContracts)({
    'GET /v1/gateway/attestation': async ({ request, query, reply }) => {
      // Pages verify, too, and the answer holds nothing that is meant for one origin only.
      reply
        .header('access-control-allow-origin', '*')
        .header('access-control-expose-headers', `retry-after, ${headerNames.requestId}`);
      const { socket } = request.raw;
      const exporter = query.binding === 'channel' ? exportedValue(socket) : undefined;
      const retryAfterS = exporter === undefined || bound.has(socket) ? limit.take(request.ip) : undefined;
      if (retryAfterS !== undefined) throw new ServiceError('rate_limited', { retryAfterS });
      const nonce = readNonce(query);
      requireBinding(query);
      const isWanted = (): boolean => !socket.destroyed;
      if (exporter !== undefined) bound.add(socket);
      const document = await (exporter === undefined
        ? attestation.evidenceFor(nonce, isWanted)
        : attestation.evidenceForChannel({ address: request.ip, nonce, exporter }, isWanted));
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

function requireBinding({ binding }: { readonly binding?: unknown }): void {
  if (binding === undefined || binding === 'channel') return;
  const message =
    'The query parameter `binding` must be `channel`, once. Omit it for evidence that your nonce alone binds.';
  throw new ServiceError('invalid_request', { message, param: 'binding' });
}
