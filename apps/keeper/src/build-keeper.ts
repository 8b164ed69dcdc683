import type { TLSSocket } from 'node:tls';
import { type GatewayChallenge, type GatewayPins, type GatewayVerification, meetsVerdict } from '@sotto/attestation';
import { AddressLimit, createServer, readJsonBody, type ServerOptions, serveHealth } from '@sotto/server';
import { ServiceError } from '@sotto/wire';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { KeeperEvents } from './events.ts';
import { FileError } from './files.ts';
import { Nonces } from './nonces.ts';

export interface KeeperOptions {
  /** The keeper's address as brokers know it. Evidence for the keeper must name it. */
  readonly origin: string;
  readonly tls: ServerOptions['tls'];
  /** Called for every request for secrets, because both files may change while the keeper runs. Both throw `FileError`. */
  readonly pins: () => GatewayPins;
  readonly secrets: () => Readonly<Record<string, string>>;
  readonly verify: (document: unknown, challenge: GatewayChallenge) => Promise<GatewayVerification>;
  readonly events: KeeperEvents;
  readonly now: () => number;
}

/** Evidence carries the vendors' documents. The largest is AMD's revocation list, about ten kilobytes today. */
const bodyLimit = 2 * 1024 * 1024;
/** Memory that all bodies still arriving may take together. */
const bodyBudget = 32 * 1024 * 1024;
const nonceLifeMs = 60_000;
/** Per address. A broker needs two requests to get its secrets, and only when it starts. */
const requestsPerMinute = 120;

/**
 * Brokers of version 0.1.0 show the keeper evidence made for clients. Both forms name the key proved on this
 * connection, so evidence that a broker gave to a client cannot be reused here.
 */
const audiences = ['keeper', 'client'] as const;

const releaseSchema = z.object({
  nonce: z.string().regex(/^[0-9a-f]{64}$/),
  evidence: z.unknown(),
});

/**
 * Builds the keeper, which releases secrets to brokers that prove what they are. A broker connects with its own TLS key
 * as client certificate and takes a nonce. It then shows evidence in which its hardware signs that nonce, the keeper's
 * origin and that key. So only the measured machine can read the keeper's answers on this connection.
 */
export function buildKeeper({ origin, tls, pins, secrets, verify, events, now }: KeeperOptions): FastifyInstance {
  const app = createServer({
    bodyLimit,
    bodyBudget,
    maxHeaderBytes: 16 * 1024,
    trustProxy: false,
    // Accept any issuer of the client's certificate: only the evidence says whose key it is.
    tls: { ...tls, requestCert: true, rejectUnauthorized: false },
    isOpenToPages: () => false,
    onShed: events.shed,
    onUnexpected: events.unexpected,
    translate: (error) => {
      if (!(error instanceof FileError)) return undefined;
      events.unreadable(error.message);
      return new ServiceError('service_unavailable', {
        message: 'The keeper cannot use its own files. Its log says why.',
      });
    },
  });
  const nonces = new Nonces({ lifeMs: nonceLifeMs, now });
  const limit = new AddressLimit({ perMinute: requestsPerMinute, maxAddresses: 10_000, now });
  serveHealth(app, async () => true);

  app.register(async (brokers) => {
    // Run before the body is read, so that a client without a key costs no memory. A hook of this scope covers exactly
    // these routes, however their paths are spelled.
    brokers.addHook('onRequest', async (request) => {
      const retryAfterS = limit.take(request.ip);
      if (retryAfterS !== undefined) throw new ServiceError('rate_limited', { retryAfterS });
      keyOf(request);
    });

    brokers.post('/v1/nonces', async (request) => ({ nonce: nonces.give(keyOf(request)) }));

    brokers.post('/v1/secrets', async (request) => {
      const { nonce, evidence } = readQuestion(request.body);
      const tlsSpki = keyOf(request);
      if (!nonces.isGood(nonce, tlsSpki)) throw new ServiceError('conflict', staleNonce);
      // Clients demand `channel` of connections to a broker. This one comes from it, and its key serves one question only.
      const accepted: GatewayPins = { ...pins(), channel: false };
      const challenge = { nonce, origin, audiences, tlsSpki, pins: accepted, now: new Date(now()) };
      const { verdict, checks, teeType } = await verify(evidence, challenge);
      if (!meetsVerdict(verdict, 'hardware_verified')) {
        const found = checks.flatMap((check) => (check.outcome === 'passed' ? [] : [check]));
        events.refused({ address: request.ip, verdict, checks: found });
        const failed = found.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
        const why = failed.length > 0 ? ` Failed: ${failed.join(', ')}.` : '';
        throw new ServiceError('forbidden', {
          message: `The verdict is ${verdict}; hardware_verified is required.${why}`,
        });
      }
      const released = secrets();
      if (!nonces.use(nonce)) throw new ServiceError('conflict', staleNonce);
      events.released({ address: request.ip, teeType: teeType ?? 'none', secrets: Object.keys(released).length });
      return { secrets: released, time: now() };
    });
  });
  return app;
}

const staleNonce = {
  message: 'The nonce was not issued for this key, was already used, or is older than a minute. Request a new one.',
  param: 'nonce',
};

function readQuestion(body: unknown): z.infer<typeof releaseSchema> {
  const asked = releaseSchema.safeParse(readJsonBody(body));
  if (asked.success) return asked.data;
  throw new ServiceError('invalid_request', {
    message: 'The body must have `nonce`, 64 lower-case hex digits, and `evidence`.',
    param: String(asked.error.issues[0]?.path[0] ?? 'nonce'),
  });
}

/** Returns the key that the client has proved to have, as the DER of its SubjectPublicKeyInfo. */
function keyOf({ raw }: FastifyRequest): Uint8Array {
  const key = (raw.socket as TLSSocket).getPeerX509Certificate()?.publicKey;
  if (key === undefined) {
    throw new ServiceError('unauthenticated', {
      message: 'Connect with a client certificate. The evidence must name its key.',
    });
  }
  return Uint8Array.from(key.export({ type: 'spki', format: 'der' }));
}
