import type { TLSSocket } from 'node:tls';
import { type GatewayChallenge, type GatewayPins, type GatewayVerification, meetsVerdict } from '@sotto/attestation';
import { AddressLimit, createServer, readJsonBody, registerHealth, type ServerOptions } from '@sotto/http';
import { ServiceError } from '@sotto/wire';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { KeeperEvents } from './events.ts';
import { FileError } from './files.ts';
import { Nonces } from './nonces.ts';

export interface KeeperOptions {
  /** The address that brokers know it by, and that evidence for it names. */
  readonly origin: string;
  readonly tls: ServerOptions['tls'];
  /** Read for every broker anew: both may change while the keeper runs. Throw `FileError`. */
  readonly pins: () => GatewayPins;
  readonly secrets: () => Readonly<Record<string, string>>;
  readonly verify: (document: unknown, challenge: GatewayChallenge) => Promise<GatewayVerification>;
  readonly events: KeeperEvents;
  readonly now: () => number;
}

/** Evidence carries the vendors' documents, of which AMD's revocation list is the largest: some ten kilobytes today. */
const bodyLimit = 2 * 1024 * 1024;
/** What bodies that are still arriving may have together. */
const arrivingBytes = 32 * 1024 * 1024;
const nonceLifeMs = 60_000;
/** By one address. A broker asks twice for its secrets, once in its life. */
const requestsPerMinute = 120;

/**
 * Brokers of version 0.1.0 show a keeper evidence in the form for clients. It names the key that they prove on this very
 * connection, as the other form does, so that a client's evidence is of no use here to anybody else.
 */
const audiences = ['keeper', 'client'] as const;

const releaseSchema = z.object({
  nonce: z.string().regex(/^[0-9a-f]{64}$/),
  evidence: z.unknown(),
});

/**
 * Releases secrets to brokers that prove what they are. A broker connects with a TLS key of its own as client certificate,
 * takes a nonce, and shows evidence in which its hardware signs that nonce, the keeper's origin and that very key: what the
 * keeper answers on this connection can be read within the measured machine alone.
 */
export function buildKeeper({ origin, tls, pins, secrets, verify, events, now }: KeeperOptions): FastifyInstance {
  const app = createServer({
    bodyLimit,
    arrivingBytes,
    maxHeaderBytes: 16 * 1024,
    trustProxy: false,
    // Whoever signed the client's certificate: evidence alone says whose key it is.
    tls: { ...tls, requestCert: true, rejectUnauthorized: false },
    isOpenToPages: () => false,
    onShed: events.shed,
    onUnexpected: events.unexpected,
    translate: (error) => {
      if (!(error instanceof FileError)) return undefined;
      events.unreadable(error.message);
      return new ServiceError('service_unavailable', { message: 'The keeper’s own files cannot be used.' });
    },
  });
  const nonces = new Nonces({ lifeMs: nonceLifeMs, now });
  const limit = new AddressLimit({ perMinute: requestsPerMinute, maxAddresses: 10_000, now });
  registerHealth(app, async () => true);

  app.register(async (brokers) => {
    // Of these routes and however they are spelled: before a body is read, and before anybody without a key is served.
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
      const challenge = { nonce, origin, audiences, tlsSpki, pins: pins(), now: new Date(now()) };
      const { verdict, checks, teeType } = await verify(evidence, challenge);
      if (!meetsVerdict(verdict, 'hardware_verified')) {
        const found = checks.flatMap((check) => (check.outcome === 'passed' ? [] : [check]));
        events.refused({ address: request.ip, verdict, checks: found });
        const failed = found.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
        const why = failed.length > 0 ? ` Failed: ${failed.join(', ')}.` : '';
        throw new ServiceError('forbidden', {
          message: `The verdict is ${verdict}, and hardware_verified is required.${why}`,
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
  message: 'The nonce was not given to this key, was used, or is older than a minute. Ask for a new one.',
  param: 'nonce',
};

function readQuestion(body: unknown): z.infer<typeof releaseSchema> {
  const asked = releaseSchema.safeParse(readJsonBody(body));
  if (asked.success) return asked.data;
  throw new ServiceError('invalid_request', {
    message: 'The body takes `nonce`, 64 lower-case hex digits, and `evidence`.',
    param: String(asked.error.issues[0]?.path[0] ?? 'nonce'),
  });
}

/** DER of the SubjectPublicKeyInfo of the key that the client has proved to have. */
function keyOf({ raw }: FastifyRequest): Uint8Array {
  const key = (raw.socket as TLSSocket).getPeerX509Certificate()?.publicKey;
  if (key === undefined) {
    throw new ServiceError('unauthenticated', {
      message: 'Connect with a client certificate: its key is the one that the evidence must name.',
    });
  }
  return Uint8Array.from(key.export({ type: 'spki', format: 'der' }));
}
