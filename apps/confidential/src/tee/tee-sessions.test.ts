import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { ProviderVerification } from '@sotto/attestation';
import type { Upstream } from '@sotto/providers';
import type { Route } from '@sotto/router';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AttemptRun } from '../attempts/try-routes.ts';
import { throughEnclave } from '../inference/reach-provider.ts';
import type { CallableProvider } from '../providers/provider-set.ts';
import { makeTlsKey } from '../tls/tls-key.ts';
import type { Reached } from './enclaves.ts';
import { TeeSessions } from './tee-sessions.ts';

const route = { id: 'm/one@vault', modelId: 'm/one', publicProviderId: 'vault', upstreamModel: 'own' } as Route;
const provider = {
  entry: {
    id: 'vault',
    base_url: 'https://vault.example/v1',
    timeouts: { connect_ms: 1000, first_byte_ms: 50 },
    attestation: { family: 'venice', measurements: ['pinned'] },
  },
  headers: [],
} as unknown as CallableProvider;

const minuteMs = 60_000;
let now = 0;
let found: Partial<ProviderVerification>;
let asked: string[];
let unreachable: boolean;
let told: string[];
/** Evidence comes only after this resolves. */
let hold: Promise<void> | undefined;
let ca: string | undefined;
let sessions: TeeSessions;

beforeEach(() => {
  now = Date.parse('2026-01-15T00:00:00Z');
  asked = [];
  told = [];
  hold = undefined;
  ca = undefined;
  unreachable = false;
  found = { verdict: 'policy_matched', isCurrent: true, tlsSpkiSha256: ['aa'.repeat(32)], checks: [] };
  sessions = new TeeSessions({
    now: () => now,
    events: {
      enclaveRefused: ({ verdict }) => told.push(verdict),
      enclaveUnknown: ({ reason }) => told.push(reason),
    },
    documents: {
      of: () => ({
        documents: {
          get: async () => {
            await hold;
            if (unreachable) throw new Error('SECRET');
            const answer = { intel_quote: '00', signing_public_key: '00' };
            return { status: 200, body: Buffer.from(JSON.stringify(answer)) };
          },
          close: async () => {},
        },
        vendors: { collateralFor: async () => undefined, endorsementFor: () => Promise.reject(new Error()) },
      }),
    },
    engine: {
      get ca() {
        return ca;
      },
      openVendors: () => {
        throw new Error('the test has its own');
      },
      verifyProvider: async (document, { nonce, now: at, toleranceMs, ...challenge }) => {
        asked.push(nonce);
        expect({ at: at.getTime(), toleranceMs }).toEqual({ at: now, toleranceMs: 0 });
        // These come from the registry and the catalog's route, whatever the provider shows.
        expect(challenge).toEqual({
          pins: { measurements: ['pinned'] },
          family: 'venice',
          upstreamModel: 'own',
          provider: 'vault',
          model: 'm/one',
          privacyClass: 'tee',
        });
        expect(document).toMatchObject({ nonce, upstream_model: 'own', privacy_class: 'tee', family: 'venice' });
        return {
          sessionId: `session-${asked.length}`,
          expiresAtMs: now + 10 * minuteMs,
          ...found,
        } as ProviderVerification;
      },
    },
  });
});

const open = () => sessions.open(route, provider);
const current = () => sessions.current(route, provider);

describe('a session', () => {
  it('is opened once for all concurrent callers, with a fresh nonce each time', async () => {
    expect(current()).toBeUndefined();
    const opened = await Promise.all([open(), open(), open()]);
    expect(new Set(opened.map((reached) => reached?.sessionId))).toEqual(new Set(['session-1']));
    expect(current()?.sessionId).toBe('session-1');
    await open();
    expect(asked[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set(asked).size).toBe(2);
  });

  it('ends with its evidence, not a moment later', async () => {
    found = { ...found, expiresAtMs: now + 1000 };
    await open();
    now += 999;
    expect(current()).toBeDefined();
    now += 1;
    expect(current()).toBeUndefined();
  });

  it('can be opened again after its end', async () => {
    await open();
    now += 11 * minuteMs;
    expect(current()).toBeUndefined();
    await open();
    expect(current()?.sessionId).toBe('session-2');
  });

  it('is renewed ahead of time while it is used, and keeps its connections while the keys stay the same', async () => {
    await open();
    const first = current();
    now += 8 * minuteMs;
    expect(current()).toBe(first);
    await open();
    expect(asked).toHaveLength(2);
    expect(current()?.sessionId).toBe('session-2');
    expect(current()?.upstream).toBe(first?.upstream);
    found = { ...found, tlsSpkiSha256: ['bb'.repeat(32)] };
    await open();
    expect(current()?.upstream).not.toBe(first?.upstream);
  });

  it('stays valid if nothing new can be learned, and ends if the new evidence is bad', async () => {
    await open();
    unreachable = true;
    expect(await open()).toBeUndefined();
    expect(current()?.sessionId).toBe('session-1');
    unreachable = false;
    now += 1000;
    found = { ...found, isCurrent: false, verdict: 'untrusted' };
    expect(await open()).toBeUndefined();
    expect(current()).toBeUndefined();
    expect(told).toEqual(['it could not be reached', 'untrusted']);
  });

  it.each<[string, Partial<ProviderVerification>]>([
    ['is not current', { isCurrent: false }],
    ['binds no TLS key', { tlsSpkiSha256: [] }],
    ['has ended already', { expiresAtMs: 0 }],
    ['is of no session', { sessionId: undefined }],
  ])('does not begin if the evidence %s, and the provider is not asked again at once', async (_, changes) => {
    found = { ...found, ...changes };
    expect(await open()).toBeUndefined();
    expect(await open()).toBeUndefined();
    expect(asked).toHaveLength(1);
    now += 1000;
    await open();
    expect(asked).toHaveLength(2);
  });

  it('can be opened at once if the clock was set back after a failure', async () => {
    found = { ...found, isCurrent: false };
    expect(await open()).toBeUndefined();
    now -= 60 * minuteMs;
    found = { ...found, isCurrent: true };
    expect((await open())?.sessionId).toBe('session-2');
  });
});

describe('a connection that is being opened when its session ends', () => {
  it.each<[string, () => Promise<unknown>]>([
    [
      'because the enclave was found bad',
      () => {
        found = { ...found, isCurrent: false };
        return open();
      },
    ],
    [
      'because it has another key now',
      () => {
        found = { ...found, tlsSpkiSha256: ['bb'.repeat(32)] };
        return open();
      },
    ],
    [
      'with its evidence',
      async () => {
        now += 11 * minuteMs;
      },
    ],
  ])('carries nothing: %s', async (_, endSession) => {
    const own = await makeTlsKey('localhost', { from: Date.now() - minuteMs, until: Date.now() + minuteMs });
    const context = createSecureContext({ key: own.keyPem, cert: own.certificatePem });
    const { promise: greeted, resolve: greet } = Promise.withResolvers<void>();
    let answerGreeting = (): void => {};
    let requests = 0;
    const server = createServer({
      SNICallback(_name, callback) {
        answerGreeting = () => callback(null, context);
        greet();
      },
    });
    server.on('request', (_request, response) => {
      requests += 1;
      response.end('{}');
    });
    server.listen(0, 'localhost');
    await once(server, 'listening');
    try {
      const { port } = server.address() as AddressInfo;
      const entry = { ...provider.entry, base_url: `https://localhost:${port}/v1` };
      ca = own.certificatePem;
      found = { ...found, tlsSpkiSha256: [own.spkiSha256] };
      const reached = await sessions.open(route, { ...provider, entry });
      const ended = new Promise<string>((resolve) => {
        const request = { path: '/chat/completions', body: '{}', accept: 'application/json' };
        reached?.upstream.call(request, {
          onResponse: () => {},
          onBytes: () => {},
          onEnd: () => resolve('answered'),
          onFailure: resolve,
        });
      });
      await greeted;
      await endSession();
      answerGreeting();
      expect(await ended).toBe('attestation_failed');
      expect(requests).toBe(0);
    } finally {
      server.closeAllConnections();
      server.close();
      await sessions.close();
    }
  });
});

describe('an attempt through an enclave', () => {
  const begun: string[] = [];
  const attempt = (outcomes: readonly ('ok' | 'attestation_failed' | 'server_error')[]) => {
    begun.length = 0;
    return throughEnclave(sessions, { route, provider }, ({ sessionId }: Reached): AttemptRun<Upstream> => {
      begun.push(sessionId);
      const outcome = outcomes[begun.length - 1] ?? 'ok';
      const success = { ok: true, success: {} as Upstream } as const;
      return { result: Promise.resolve(outcome === 'ok' ? success : { ok: false, outcome }), abort() {} };
    });
  };
  const run = (outcomes: Parameters<typeof attempt>[0]) => attempt(outcomes).result;

  it('does not begin without an enclave', async () => {
    found = { ...found, isCurrent: false };
    expect(await run(['ok'])).toEqual({ ok: false, outcome: 'attestation_failed' });
    expect(begun).toEqual([]);
  });

  it('is verified and begun again, once, if its connection shows another key', async () => {
    await open();
    expect(await run(['attestation_failed', 'ok'])).toMatchObject({ ok: true });
    expect(begun).toEqual(['session-1', 'session-2']);
    expect(await run(['attestation_failed', 'attestation_failed', 'ok'])).toMatchObject({ ok: false });
    expect(begun).toHaveLength(2);
  });

  it('waits for a verification no longer than for a first byte, and uses it the next time', async () => {
    const { promise: slow, resolve: finish } = Promise.withResolvers<void>();
    hold = slow;
    expect(await run(['ok'])).toEqual({ ok: false, outcome: 'attestation_failed' });
    finish();
    await open();
    expect(await run(['ok'])).toMatchObject({ ok: true });
    expect(asked).toHaveLength(1);
  });

  // Otherwise a client that leaves meanwhile would pay for work that no provider has begun.
  it('has not begun while its enclave is verified, the first time or again', async () => {
    let finish = (): void => {};
    const held = (): void => {
      hold = new Promise((resolve) => {
        finish = resolve;
      });
    };
    held();
    const first = attempt(['ok']);
    expect(first.hasBegun?.()).toBe(false);
    finish();
    await first.result;
    expect(first.hasBegun?.()).toBe(true);

    held();
    const again = attempt(['attestation_failed', 'ok']);
    expect(again.hasBegun?.()).toBe(true);
    await new Promise(setImmediate);
    expect([begun, again.hasBegun?.()]).toEqual([['session-1'], false]);
    finish();
    expect(await again.result).toMatchObject({ ok: true });
    expect(again.hasBegun?.()).toBe(true);
  });

  it('is not begun again if it fails otherwise, or in an enclave that was verified for it', async () => {
    expect(await run(['attestation_failed', 'ok'])).toMatchObject({ ok: false });
    expect(await run(['server_error', 'ok'])).toMatchObject({ outcome: 'server_error' });
    expect(begun).toHaveLength(1);
  });
});
