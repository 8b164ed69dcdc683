import { randomBytes } from 'node:crypto';
import { request } from 'node:https';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { type GatewayPins, tlsExporter } from '@sotto/attestation';
import { TdxMachine } from '@sotto/attestation/testing';
import type { OriginVerification } from '@sotto/client';
import { fetchOver, makePrivateClient, nodePlatform, type PrivateClient } from '@sotto/client/testing';
import { until } from '@sotto/test-servers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConfigfsStandIn } from './configfs-stand-in.ts';
import { type Attacker, startAttacker } from './stolen-key.ts';
import {
  type AttestedBroker,
  clock,
  freshNonce,
  outcomes,
  pins,
  startAttestedBroker,
  tdxGuest,
  verifier,
} from './world.ts';

const marker = 'CONTENT-MARKER';
let machine: TdxMachine;
let configfs: ConfigfsStandIn;
let broker: AttestedBroker;
let verify: ReturnType<typeof verifier>;
beforeAll(async () => {
  clock.reset();
  machine = await TdxMachine.make();
  const guest = await tdxGuest(machine);
  configfs = guest.configfs;
  broker = await startAttestedBroker(guest.producer);
  verify = verifier({ tdx: machine });
});
afterAll(async () => {
  await broker.stop();
  await configfs.stop();
});

describe('a client whose connections pass through an attacker with the stolen TLS key of the broker', () => {
  let attacker: Attacker;
  const clients: PrivateClient[] = [];
  beforeEach(async () => {
    attacker = await startAttacker(() => broker.keeper.served);
  });
  afterEach(async () => {
    for (const { session } of clients.splice(0)) session.close();
    await attacker.stop();
  });

  /** A client with its own wallet. It demands the strongest verdict, under the root of the test's machine. */
  function newClient(own: Partial<GatewayPins> = {}) {
    const verified: OriginVerification[] = [];
    const mint = async (): Promise<Response> =>
      Response.json({
        ticket: randomBytes(16).toString('hex'),
        expires_at: new Date(Date.now() + 300_000).toISOString(),
      });
    const client = makePrivateClient(
      nodePlatform({ selfSigned: true, relay: attacker.address }),
      {
        ...{ apiKey: randomBytes(8).toString('hex'), controlOrigin: 'https://control.invalid', ticketsAhead: 0 },
        ...{ baseOrigin: broker.origin, pins: { gateway: { ...pins, ...own } }, now: clock.now },
        onVerified: (verification) => verified.push(verification),
      },
      {
        fetch: mint,
        verifyGateway: (document, { tlsSpki, ...challenge }) => verify({ document, tlsSpki }, challenge),
      },
    );
    clients.push(client);
    const fetch = fetchOver(client.exchange, broker.origin);
    /** Resolves to what the broker answers. It refuses the made-up ticket when content has arrived. */
    const ask = async (): Promise<string> => {
      const body = JSON.stringify({ model: 'm/one', messages: [{ role: 'user', content: marker }] });
      const answer = await fetch(`${broker.origin}/v1/chat/completions`, { method: 'POST', body });
      return ((await answer.json()) as { error: { type: string } }).error.type;
    };
    return { ask, verified };
  }
  const arrived = 'invalid_ticket';

  it('sends content while the attacker only passes bytes on, and says that the connection was checked', async () => {
    const { ask, verified } = newClient({ channel: true });
    expect(await ask()).toBe(arrived);
    expect(verified).toMatchObject([{ verdict: 'hardware_verified', binding: 'channel' }]);
    expect(outcomes(verified[0]?.checks ?? [], 'failed')).toEqual([]);
  });

  const withoutBinding = (sent: string): string => sent.replace('&binding=channel', '');
  it.each<[string, Parameters<Attacker['attacks']>[0], string, string]>([
    ['relays the evidence of the genuine broker', { way: 'end_tls' }, 'nonce_mismatch', ''],
    [
      'asks the genuine broker for evidence that covers no connection',
      { way: 'end_tls', rewrite: withoutBinding },
      'attestation_untrusted',
      'gateway.channel',
    ],
    ['speaks an older TLS, which exports nothing', { way: 'end_tls', newestTls: 'TLSv1.2' }, 'nonce_mismatch', ''],
    [
      'speaks an older TLS, and asks for evidence that covers no connection',
      { way: 'end_tls', newestTls: 'TLSv1.2', rewrite: withoutBinding },
      'attestation_untrusted',
      'gateway.channel',
    ],
  ])('sends nothing when the attacker %s', async (_, attack, code, check) => {
    for (const own of [{}, { channel: true }]) {
      attacker.attacks(attack);
      const failure = await newClient(own)
        .ask()
        .catch((error: unknown) => error);
      expect(failure).toMatchObject({ code, message: expect.stringContaining(check) });
    }
    // The attack as such works: the attacker has read the requests for evidence.
    expect(attacker.read()).toContain('/v1/gateway/attestation');
    expect(attacker.read()).not.toContain(marker);
  });

  it('loses its content to the attacker with the check switched off, although every other check passes', async () => {
    attacker.attacks({ way: 'end_tls' });
    const { ask, verified } = newClient({ channel: false });
    expect(await ask()).toBe(arrived);
    expect(verified).toMatchObject([{ verdict: 'hardware_verified', binding: 'key' }]);
    expect(attacker.read()).toContain(marker);
  });

  // The interleaving: the client verifies, the attacker cuts the connection, and the next request connects through the attack.
  it('sends nothing over a connection that it opens later, when the attack has begun', async () => {
    const { ask } = newClient();
    expect([await ask(), await ask()]).toEqual([arrived, arrived]);
    expect(attacker.connections()).toBe(1);
    attacker.attacks({ way: 'end_tls' });
    await attacker.cut();
    await expect(ask()).rejects.toMatchObject({ code: 'nonce_mismatch' });
    expect(attacker.read()).not.toContain(marker);
    attacker.attacks({ way: 'pass' });
    expect(await ask()).toBe(arrived);
  });

  it('attests each connection before content, and shares none with another wallet', async () => {
    const [one, other] = [newClient(), newClient()];
    const before = configfs.reports;
    const asked = await Promise.all([one.ask(), one.ask(), one.ask(), other.ask()]);
    expect(asked).toEqual(Array(4).fill(arrived));
    // Three requests of one wallet at once, and one of another: no connection carries two.
    expect(attacker.connections()).toBe(4);
    expect(configfs.reports - before).toBeLessThanOrEqual(4);
    expect(await one.ask()).toBe(arrived);
    expect(await other.ask()).toBe(arrived);
    expect(attacker.connections()).toBe(4);
  });
});

/** One TLS connection to the broker, and what it exports. */
async function openConnection(options: ConnectionOptions = {}) {
  const { port, hostname } = new URL(broker.origin);
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false, ...options });
  await new Promise<void>((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  const exporter = socket.exportKeyingMaterial(tlsExporter.bytes, tlsExporter.label, Buffer.alloc(0));
  const tlsSpki = Uint8Array.from(
    socket.getPeerX509Certificate()?.publicKey.export({ type: 'spki', format: 'der' }) ?? [],
  );
  return { socket, exporter, tlsSpki, close: () => socket.destroy() };
}

/** Asks for evidence on a connection, with a query as it stands. */
function askOn(socket: TLSSocket, query: string): Promise<{ status: number; document: { channel?: object } }> {
  return new Promise((resolve, reject) => {
    const asked = request(
      `${broker.origin}/v1/gateway/attestation?${query}`,
      { createConnection: () => socket, headers: { connection: 'keep-alive' } },
      (answer) => {
        let text = '';
        answer.on('data', (piece) => {
          text += piece;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, document: JSON.parse(text) }));
      },
    );
    asked.on('error', reject).end();
  });
}

describe('a broker that is asked for evidence about connections', () => {
  it('gives each client that waits a proof that holds on its own connection, for its own nonce', async () => {
    const release = configfs.hold();
    const { asked: before } = configfs;
    const first = await openConnection();
    const alone = askOn(first.socket, `nonce=${freshNonce()}&binding=channel`);
    await until(() => configfs.asked > before, 'the first quote is asked for');
    const waiting = await Promise.all(
      Array.from({ length: 7 }, async () => ({ ...(await openConnection()), nonce: freshNonce() })),
    );
    const answers = waiting.map(({ socket, nonce }) => askOn(socket, `nonce=${nonce}&binding=channel`));
    release();
    expect((await alone).document.channel).toEqual({ leaf_index: 0, tree_size: 1, path: [] });
    const documents = (await Promise.all(answers)).map(({ document }) => document);
    const judge = (document: object, { nonce, exporter, tlsSpki }: (typeof waiting)[number]) =>
      verify({ document, tlsSpki }, { origin: broker.origin, nonce, channel: { exporter } });
    for (const [at, own] of waiting.entries()) {
      const document = documents[at] ?? {};
      expect(await judge(document, own)).toMatchObject({ verdict: 'hardware_verified', binding: 'channel' });
      const [neighbour = own] = waiting.slice((at + 1) % waiting.length);
      const stolen = await judge(document, { ...neighbour, nonce: own.nonce });
      expect(outcomes(stolen.checks, 'failed')).toEqual(['gateway.report_data', 'gateway.channel']);
      expect((await judge(document, { ...own, nonce: neighbour.nonce })).verdict).toBe('untrusted');
    }
    for (const { close } of [first, ...waiting]) close();
  });

  it('reads the value from its own socket: no parameter names one', async () => {
    const [own, other] = [await openConnection(), await openConnection()];
    const nonce = freshNonce();
    const hex = Buffer.from(other.exporter).toString('hex');
    const { document } = await askOn(own.socket, `nonce=${nonce}&binding=channel&exporter=${hex}&channel=${hex}`);
    const judge = ({ exporter, tlsSpki }: typeof own) =>
      verify({ document, tlsSpki }, { origin: broker.origin, nonce, channel: { exporter } });
    expect((await judge(own)).binding).toBe('channel');
    expect((await judge(other)).binding).toBe('none');
    for (const { close } of [own, other]) close();
  });

  it('binds no connection with TLS 1.2, and none without being asked', async () => {
    const old = await openConnection({ maxVersion: 'TLSv1.2' });
    const { status, document } = await askOn(old.socket, `nonce=${freshNonce()}&binding=channel`);
    expect([status, document.channel]).toEqual([200, undefined]);
    old.close();
    const plain = await openConnection();
    expect((await askOn(plain.socket, `nonce=${freshNonce()}`)).document.channel).toBeUndefined();
    plain.close();
  });

  it.each(['key', 'Channel', 'channel&binding=channel'])('refuses the binding %s', async (binding) => {
    const { socket, close } = await openConnection();
    const { status, document } = await askOn(socket, `nonce=${freshNonce()}&binding=${binding}`);
    expect([status, document]).toMatchObject([400, { error: { param: 'binding' } }]);
    close();
  });
});
