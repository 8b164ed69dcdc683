import { verifyGateway } from '@sotto/attestation';
import { describe, expect, it } from 'vitest';
import { answerFrom } from '../answer.ts';
import { ClientError } from '../errors.ts';
import { shippedPins } from '../pins/client-pins.ts';
import { GatewaySession, type GatewaySessionOptions } from './gateway-session.ts';
import type { ContentRequest, EvidenceReading, OriginConnection, Platform } from './platform.ts';
import { type SimulatedGateway, simulatedEvidence } from './testing/simulated-evidence.ts';

const origin = 'http://127.0.0.1:4001';
const request: ContentRequest = {
  path: '/v1/chat/completions',
  headers: {},
  body: 'content',
  signal: undefined,
};

/** A gateway whose evidence and connections the test controls. */
function standIn(options: Partial<GatewaySessionOptions> = {}) {
  let now = Date.now();
  let gateway: SimulatedGateway = { origin };
  let read = (nonce: string): Promise<EvidenceReading> =>
    simulatedEvidence(nonce, gateway).then((document) => ({ document }));
  const refusals: Error[] = [];
  const sent: string[] = [];
  const nonces: string[] = [];
  let closed = 0;
  const platform: Platform = {
    seesTlsKeys: true,
    readEvidence(_, { nonce }) {
      nonces.push(nonce);
      return read(nonce);
    },
    openChannel: () => ({
      async send({ body }) {
        const refusal = refusals.shift();
        if (refusal !== undefined) throw refusal;
        sent.push(String(body));
        return answerFrom(new Response('answer'));
      },
      close: () => {
        closed += 1;
      },
    }),
  };
  const session = new GatewaySession({
    platform,
    verifyGateway,
    origin,
    pins: shippedPins,
    minimumVerdict: 'hardware_verified',
    allowSimulated: true,
    now: () => now,
    maxAgeMs: 60_000,
    onVerified: () => undefined,
    ...options,
  });
  return {
    session,
    sent,
    nonces,
    refusals,
    get closed() {
      return closed;
    },
    pass: (ms: number) => {
      now += ms;
    },
    is: (next: Partial<SimulatedGateway>) => {
      gateway = { ...gateway, ...next };
    },
    answer: (next: typeof read) => {
      read = next;
    },
  };
}

describe('the way to a confidential origin', () => {
  it('verifies once, with a fresh nonce, before the first content, for concurrent requests', async () => {
    const at = standIn();
    await Promise.all([at.session.send(request), at.session.send(request), at.session.verified()]);
    await at.session.send(request);
    expect(at.nonces).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect(at.sent).toHaveLength(3);
  });

  it('verifies again with another nonce when the verification is too old, and drops the old connections', async () => {
    const at = standIn();
    await at.session.send(request);
    at.pass(59_000);
    await at.session.send(request);
    expect(at.nonces).toHaveLength(1);
    at.pass(2000);
    await at.session.send(request);
    expect(new Set(at.nonces).size).toBe(2);
    expect(at.closed).toBe(1);
  });

  it('verifies again when the key set has ended', async () => {
    const at = standIn({ maxAgeMs: 3_600_000 });
    at.is({ notAfter: Math.floor(Date.now() / 1000) + 60 });
    await at.session.send(request);
    at.pass(61_000);
    await at.session.send(request);
    expect(at.nonces).toHaveLength(2);
  });

  it('verifies again when the pin of the machine has ended', async () => {
    const ends = new Date(Date.now() + 60_000).toISOString();
    const at = standIn({
      maxAgeMs: 3_600_000,
      verifyGateway: async (document, challenge) => ({
        ...(await verifyGateway(document, challenge)),
        pin: { name: undefined, release: undefined, expiresAt: ends },
      }),
    });
    await at.session.send(request);
    at.pass(59_000);
    await at.session.send(request);
    expect(at.nonces).toHaveLength(1);
    at.pass(2000);
    await at.session.send(request);
    expect(at.nonces).toHaveLength(2);
  });

  it.each<[string, Partial<SimulatedGateway>, string]>([
    ['for another origin', { statedOrigin: 'http://127.0.0.1:4002' }, 'nonce_mismatch'],
    ['of a key set that has ended', { notAfter: Math.floor(Date.now() / 1000) - 3600 }, 'attestation_untrusted'],
    [
      'of a key set that never ends',
      { notAfter: Math.floor(Date.now() / 1000) + 365 * 86_400 },
      'attestation_untrusted',
    ],
  ])('sends nothing on evidence %s', async (_, gateway, code) => {
    const at = standIn();
    at.is(gateway);
    await expect(at.session.send(request)).rejects.toMatchObject({ code });
    expect(at.sent).toEqual([]);
  });

  it('sends nothing on evidence for an old nonce', async () => {
    const at = standIn();
    at.answer(async () => ({ document: await simulatedEvidence('0'.repeat(64), { origin }) }));
    await expect(at.session.send(request)).rejects.toMatchObject({ code: 'nonce_mismatch' });
    expect(at.sent).toEqual([]);
  });

  it('sends nothing without evidence, and says why', async () => {
    const at = standIn();
    at.answer(async () => ({ document: undefined, absence: 'The service offers no attestation.' }));
    await expect(at.session.send(request)).rejects.toMatchObject({
      code: 'attestation_unavailable',
      message: expect.stringContaining('offers no attestation'),
    });
    at.answer(() => Promise.reject(new Error('secret words of a socket')));
    const failure = await at.session.send(request).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'attestation_unavailable', message: expect.not.stringContaining('secret') });
    expect(at.sent).toEqual([]);
  });

  it('sends nothing on simulated evidence unless it is allowed and from this machine', async () => {
    const strict = standIn({ allowSimulated: false });
    await expect(strict.session.send(request)).rejects.toMatchObject({
      code: 'attestation_untrusted',
      message: expect.stringContaining('accept it with `allowSimulated` (`--allow-simulated`)'),
    });
    const remote = 'https://api.example.com';
    const far = standIn({ origin: remote });
    far.is({ origin: remote });
    await expect(far.session.send(request)).rejects.toMatchObject({
      code: 'attestation_untrusted',
      message: expect.stringMatching(/simulated\.hardware.*ships no measurements/s),
    });
    expect([...strict.sent, ...far.sent]).toEqual([]);
  });

  it('verifies once more when a connection proves another key, and then sends', async () => {
    const at = standIn();
    await at.session.verified();
    at.refusals.push(new ClientError('connection_not_verified'));
    expect(await (await at.session.send(request)).toResponse().text()).toBe('answer');
    expect(at.nonces).toHaveLength(2);
    expect(at.sent).toHaveLength(1);
  });

  it('reports the mismatch if the second verification fails, and sends nothing', async () => {
    const at = standIn();
    await at.session.verified();
    const mismatch = new ClientError('connection_not_verified');
    at.refusals.push(mismatch);
    at.answer(async () => ({ document: null }));
    await expect(at.session.send(request)).rejects.toBe(mismatch);
    expect(at.sent).toEqual([]);
  });

  it('verifies only once more', async () => {
    const at = standIn();
    at.refusals.push(new ClientError('connection_not_verified'), new ClientError('connection_not_verified'));
    await expect(at.session.send(request)).rejects.toMatchObject({ code: 'connection_not_verified' });
    expect(at.nonces).toHaveLength(2);
    expect(at.sent).toEqual([]);
  });

  it('lets a request abort while it waits for a verification that others share', async () => {
    const at = standIn();
    let begin = (): void => undefined;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    at.answer(async (nonce) => {
      await begun;
      return { document: await simulatedEvidence(nonce, { origin }) };
    });
    const leaving = new AbortController();
    const left = at.session.send({ ...request, signal: leaving.signal });
    const stays = at.session.send(request);
    leaving.abort();
    await expect(left).rejects.toMatchObject({ name: 'AbortError' });
    begin();
    expect((await stays).status).toBe(200);
    expect(at.sent).toHaveLength(1);
  });
});

/** A connection that stays open, whose requests end when the test says so. */
class StandInConnection implements OriginConnection {
  isOpen = true;
  requests = 0;
  end = (): void => undefined;

  async send(_: ContentRequest, onFree: () => void) {
    this.requests += 1;
    this.end = onFree;
    return answerFrom(new Response('answer'));
  }

  close(): void {
    this.isOpen = false;
  }
}

/** A gateway whose evidence covers its connections, and which answers when the test lets it. */
function boundStandIn() {
  const at = standIn({ onVerified: () => (counted += 1) });
  let counted = 0;
  let notAfter = Math.floor(Date.now() / 1000) + 3600;
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  const connections: StandInConnection[] = [];
  at.answer(async (nonce) => {
    const exporter = crypto.getRandomValues(new Uint8Array(32));
    const document = await simulatedEvidence(nonce, { origin, notAfter, bindsChannels: true }, exporter);
    const connection = new StandInConnection();
    connections.push(connection);
    await gate.promise;
    return { document, channel: { exporter }, connection };
  });
  return {
    ...at,
    connections,
    counted: () => counted,
    /** The broker starts anew with other keys. */
    rotate: () => {
      notAfter += 60;
    },
    /** Holds evidence back. Returns how to let it arrive. */
    hold: () => {
      gate = Promise.withResolvers();
      return gate.resolve;
    },
    readings: async (count: number) => {
      while (connections.length < count) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

describe('the way to an origin whose evidence covers each connection', () => {
  // The interleaving: requests that run at one time each attest a connection, and all meet the new key set. Each of them could
  // end the session that another has begun, with its connections.
  it('begins one session when many requests meet a new key set at one time, and keeps their connections', async () => {
    const at = boundStandIn();
    await at.session.send(request);
    at.rotate();
    const release = at.hold();
    const sends = Array.from({ length: 4 }, () => at.session.send(request));
    await at.readings(5);
    release();
    expect((await Promise.all(sends)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(at.counted()).toBe(2);
    expect(at.connections.map(({ requests }) => requests)).toEqual([1, 1, 1, 1, 1]);
    for (const connection of at.connections) connection.end();
    expect(at.connections.map(({ isOpen }) => isOpen)).toEqual([false, true, true, true, true]);
    await Promise.all(Array.from({ length: 4 }, () => at.session.send(request)));
    expect(at.connections).toHaveLength(5);
  });

  // The interleaving: the client closes while evidence is on its way, and its connection is not closed.
  it.each([
    ['before the first', false],
    ['for another connection', true],
  ] as const)('leaves no connection open when it is closed during a verification, %s', async (_, isLater) => {
    const at = boundStandIn();
    if (isLater) await at.session.send(request);
    const release = at.hold();
    const sent = at.session.send(request);
    await at.readings(isLater ? 2 : 1);
    at.session.close();
    release();
    await expect(sent).rejects.toMatchObject({ name: 'AbortError' });
    for (const connection of at.connections) connection.end();
    expect(at.connections.map(({ isOpen }) => isOpen)).toEqual(at.connections.map(() => false));
    await expect(at.session.send(request)).rejects.toMatchObject({ name: 'AbortError' });
  });
});
