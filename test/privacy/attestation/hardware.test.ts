import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type GatewayPins, verifyGateway } from '@sotto/attestation';
import { configfsSource, dstackSource, hardwareProducer, simulatedProducer } from '@sotto/attestation/producers';
import { certificateTable, SnpMachine, TdxMachine } from '@sotto/attestation/testing';
import { until } from '@sotto/test-servers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ConfigfsStandIn } from './configfs-stand-in.ts';
import {
  type AttestedBroker,
  askForEvidence,
  clock,
  digestOf,
  freshNonce,
  outcomes,
  pins,
  startAttestedBroker,
  tdxGuest,
  vendorsWith,
  verifier,
} from './world.ts';

let machine: TdxMachine;
let verify: ReturnType<typeof verifier>;
const stops: (() => Promise<unknown>)[] = [];

async function start(): Promise<AttestedBroker & { readonly configfs: ConfigfsStandIn }> {
  const { configfs, producer } = await tdxGuest(machine);
  const broker = await startAttestedBroker(producer);
  stops.push(
    () => configfs.stop(),
    () => broker.stop(),
  );
  return { ...broker, configfs };
}

beforeAll(async () => {
  machine = await TdxMachine.make();
  verify = verifier({ tdx: machine });
});
beforeEach(() => clock.reset());
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

describe('a broker inside a TDX guest', () => {
  let broker: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    broker = await start();
  });
  const ask = async (nonce = freshNonce()) => {
    const seen = await askForEvidence(broker.origin, nonce);
    expect(seen.status).toBe(200);
    return { seen, nonce };
  };

  it('is hardware_verified: with our pins, our nonce, and the key of this connection', async () => {
    const { seen, nonce } = await ask();
    const verified = await verify(seen, { origin: broker.origin, nonce });
    expect(outcomes(verified.checks, 'failed')).toEqual([]);
    expect(outcomes(verified.checks, 'not_made')).toEqual([
      'gateway.registry',
      'gateway.vendor',
      'gateway.platform',
      'gateway.provenance',
      'gateway.channel',
    ]);
    expect(verified).toMatchObject({ verdict: 'hardware_verified', teeType: 'tdx' });
    expect(verified.keySet?.tls_public_keys).toEqual([
      { origin: broker.origin, spki_sha256: createHash('sha256').update(seen.tlsSpki).digest('hex') },
    ]);
  });

  it('leaves no report behind, and answers nothing from a cache', async () => {
    const before = broker.configfs.reports;
    const nonce = freshNonce();
    await ask(nonce);
    await ask(nonce);
    expect(broker.configfs.reports).toBe(before + 2);
    expect(await readdir(broker.configfs.directory)).toEqual([]);
  });

  it("is untrusted by the public verifier: no test evidence chains to Intel's root", async () => {
    const { seen, nonce } = await ask();
    const challenge = { nonce, origin: broker.origin, pins, now: new Date(clock.nowMs), tlsSpki: seen.tlsSpki };
    const verified = await verifyGateway(seen.document, challenge);
    expect(verified.verdict).toBe('untrusted');
    expect(outcomes(verified.checks, 'failed')).toContain('tdx.pck_chain');
  });

  it('with an old nonce is detected (gateway.report_data)', async () => {
    const { seen } = await ask();
    const verified = await verify(seen, { origin: broker.origin, nonce: freshNonce() });
    expect(outcomes(verified.checks, 'failed')).toEqual(['gateway.report_data']);
    expect(verified).toMatchObject({ verdict: 'untrusted', keySet: undefined });
  });

  it('with the quote of another origin is detected (gateway.report_data, gateway.tls_key)', async () => {
    const other = await start();
    const { seen: ours, nonce } = await ask();
    const theirs = await askForEvidence(other.origin, nonce);
    // Another origin shows our evidence on its own connection.
    const shown = { document: ours.document, tlsSpki: theirs.tlsSpki };
    const verified = await verify(shown, { origin: other.origin, nonce });
    expect(outcomes(verified.checks, 'failed')).toEqual(['gateway.report_data', 'gateway.tls_key']);
    // A relay in between, which has another key, shows it under our own name.
    const between = await verify(shown, { origin: broker.origin, nonce });
    expect(outcomes(between.checks, 'failed')).toEqual(['gateway.tls_key']);
  });

  it('with another key set beside its quote is detected (gateway.report_data)', async () => {
    const { seen, nonce } = await ask();
    const document = seen.document as { key_set: object };
    const widened = { ...document, key_set: { ...document.key_set, not_after: 1_768_100_000 } };
    const verified = await verify({ ...seen, document: widened }, { origin: broker.origin, nonce });
    expect(outcomes(verified.checks, 'failed')).toEqual(['gateway.report_data']);
  });

  it('shows one snapshot: a key that changes while the quote is made appears in the next document', async () => {
    const changing = await start();
    const release = changing.configfs.hold();
    const nonce = freshNonce();
    const asked = askForEvidence(changing.origin, nonce);
    await until(() => changing.configfs.asked > 0, 'the quote is asked for');
    await changing.pass(29.5);
    release();
    expect(changing.keeper.named.spkiSha256).toHaveLength(2);
    const seen = await asked;
    const verified = await verify(seen, { origin: changing.origin, nonce });
    expect(outcomes(verified.checks, 'failed')).toEqual([]);
    expect(verified.keySet?.tls_public_keys).toHaveLength(1);
    const next = await askForEvidence(changing.origin, nonce);
    expect(digestOf(next.document)).not.toBe(digestOf(seen.document));
  });
});

describe('a broker whose TLS key changes', () => {
  it('announces the next key before it serves it, and drops the last one', async () => {
    const broker = await start();
    const look = async () => {
      const nonce = freshNonce();
      const seen = await askForEvidence(broker.origin, nonce);
      return { seen, nonce, verified: await verify(seen, { origin: broker.origin, nonce }) };
    };
    const first = await look();
    await broker.pass(29.2);
    const announced = await look();
    expect(announced.verified).toMatchObject({ verdict: 'hardware_verified' });
    expect(announced.verified.keySet?.tls_public_keys).toHaveLength(2);
    expect(announced.seen.tlsSpki).toEqual(first.seen.tlsSpki);
    await broker.pass(1);
    const changed = await look();
    expect(changed.verified).toMatchObject({ verdict: 'hardware_verified' });
    expect(changed.seen.tlsSpki).not.toEqual(first.seen.tlsSpki);
    // A client that verified while both keys were announced accepts the new key.
    const stillGood = await verify(
      { ...announced.seen, tlsSpki: changed.seen.tlsSpki },
      { origin: broker.origin, nonce: announced.nonce },
    );
    expect(stillGood.verdict).toBe('hardware_verified');
    // A client that verified earlier must verify again, and a thief of the old key is detected.
    const stale = await verify(
      { ...first.seen, tlsSpki: changed.seen.tlsSpki },
      { origin: broker.origin, nonce: first.nonce },
    );
    expect(outcomes(stale.checks, 'failed')).toEqual(['gateway.key_set_validity', 'gateway.tls_key']);
    const stolen = await verify(
      { ...changed.seen, tlsSpki: first.seen.tlsSpki },
      { origin: broker.origin, nonce: changed.nonce },
    );
    expect(outcomes(stolen.checks, 'failed')).toEqual(['gateway.tls_key']);
  });
});

describe('simulated evidence', () => {
  it('is detected when it claims to be hardware (tdx.format, snp.format)', async () => {
    const broker = await startAttestedBroker(await simulatedProducer());
    stops.push(() => broker.stop());
    const nonce = freshNonce();
    const seen = await askForEvidence(broker.origin, nonce);
    const honest = await verify(seen, { origin: broker.origin, nonce });
    expect(outcomes(honest.checks, 'failed')).toEqual(['simulated.hardware']);
    const document = seen.document as { evidence: { simulated_evidence: string } };
    const { simulated_evidence: bytes } = document.evidence;
    for (const [evidence, check] of [
      [{ tee_type: 'tdx', quote: bytes }, 'tdx.format'],
      [{ tee_type: 'sev_snp', report: bytes, endorsement_key: bytes, intermediate: bytes }, 'snp.format'],
    ] as const) {
      const verified = await verify({ ...seen, document: { ...document, evidence } }, { origin: broker.origin, nonce });
      expect(outcomes(verified.checks, 'failed')).toContain(check);
      expect(verified).toMatchObject({ verdict: 'untrusted', keySet: undefined });
    }
  });
});

describe('a broker inside a SEV-SNP guest', () => {
  it('is hardware_verified with the certificates from its host', async () => {
    const snp = await SnpMachine.make('milan');
    const { endorsementKey, intermediate, revocationList = new Uint8Array() } = await snp.evidence();
    const configfs = await ConfigfsStandIn.make({
      provider: 'sev_guest',
      report: (reportData) => snp.report({ reportData }),
      certificates: certificateTable(
        ['63da758de6644564adc5f4b93be8accd', endorsementKey],
        ['4ab7b379bbac4fe4a02f05aef327c782', intermediate],
      ),
    });
    const source = configfsSource({ directory: configfs.directory, files: configfs.files });
    const list = async () => new Response(Uint8Array.from(revocationList));
    const broker = await startAttestedBroker(
      hardwareProducer(source, vendorsWith([[/\/vcek\/v1\/Milan\/crl$/, list]])),
    );
    stops.push(
      () => configfs.stop(),
      () => broker.stop(),
    );
    const nonce = freshNonce();
    const seen = await askForEvidence(broker.origin, nonce);
    const verified = await verifier({ snp })(seen, { origin: broker.origin, nonce });
    expect(outcomes(verified.checks, 'failed')).toEqual([]);
    expect(verified).toMatchObject({ verdict: 'hardware_verified', teeType: 'sev_snp' });
  });
});

describe('a broker inside a dstack guest', () => {
  let agent: Server;
  afterAll(() => agent?.close());

  it('is identified by its measured compose file', async () => {
    const digest = `sha256:${'5a'.repeat(32)}`;
    const appCompose = JSON.stringify({
      docker_compose_file: `services:\n  broker:\n    image: r.example/sotto@${digest}\n`,
    });
    const composeHash = createHash('sha256').update(appCompose).digest('hex');
    const keyProvider = Buffer.from(JSON.stringify({ name: 'kms', id: '04ab' })).toString('hex');
    const appId = composeHash.slice(0, 40);
    const lines = [`app-id:${appId}`, `compose-hash:${composeHash}`, `key-provider:${keyProvider}`, 'system-ready:'];
    const log = ['system-preparing:', ...lines].map((line) => {
      const [event = '', event_payload = ''] = line.split(':');
      return { imr: 3, event_type: 0x0800_0001, digest: '', event, event_payload };
    });
    const rtmr3 = log.reduce((value, { event, event_payload }) => {
      const event_digest = createHash('sha384')
        .update(Buffer.from([1, 0, 0, 8]))
        .update(`:${event}:`)
        .update(Buffer.from(event_payload, 'hex'))
        .digest();
      return createHash('sha384').update(value).update(event_digest).digest();
    }, Buffer.alloc(48));
    agent = createServer((request, response) => {
      let body = '';
      request.on('data', (piece) => {
        body += piece;
      });
      request.on('end', async () => {
        if (request.url === '/Info')
          return response.end(JSON.stringify({ tcb_info: JSON.stringify({ app_compose: appCompose }) }));
        const { report_data } = JSON.parse(body) as { report_data: string };
        const rtmrs = [0, 0, 0].map(() => new Uint8Array(48)).concat(Uint8Array.from(rtmr3));
        const quote = await machine.quote({ reportData: Uint8Array.from(Buffer.from(report_data, 'hex')), rtmrs });
        return response.end(
          JSON.stringify({ quote: Buffer.from(quote).toString('hex'), event_log: JSON.stringify(log) }),
        );
      });
    });
    const socketPath = join(tmpdir(), `sotto-agent-${process.pid}.sock`);
    await new Promise<void>((resolve) => agent.listen(socketPath, resolve));
    const broker = await startAttestedBroker(hardwareProducer(dstackSource({ socketPath }), vendorsWith([])), {
      repository: 'https://git.example/sotto',
      commit: '0'.repeat(40),
      image_digest: digest,
    });
    stops.push(() => broker.stop());
    const nonce = freshNonce();
    const seen = await askForEvidence(broker.origin, nonce);
    const zeros = '00'.repeat(48);
    const byCompose: GatewayPins = {
      tdx: {
        minimum_evaluation_number: 18,
        measurements: [
          {
            ...{ mr_td: zeros, rtmr0: zeros, rtmr1: zeros, rtmr2: zeros },
            ...{ compose_hash: composeHash, app_id: appId, key_provider: 'kms:04ab' },
          },
        ],
      },
    };
    const verified = await verify(seen, { origin: broker.origin, nonce, pins: byCompose });
    expect(outcomes(verified.checks, 'failed')).toEqual([]);
    expect(outcomes(verified.checks, 'passed')).toContain('gateway.provenance');
    // Intel's service could not be reached. The evidence is still delivered, but its tier is one lower.
    expect(outcomes(verified.checks, 'not_made')).toContain('tdx.collateral_format');
    expect(verified.verdict).toBe('cryptographically_checked');
  });
});

describe('many concurrent callers', () => {
  it('share one quote at a time: a few wait, the others are told to retry, and later calls work again', async () => {
    const broker = await start();
    const release = broker.configfs.hold();
    const statuses = new Set<number>();
    const asked = Array.from({ length: 400 }, async () => {
      const seen = await askForEvidence(broker.origin, freshNonce());
      statuses.add(seen.status);
      return seen;
    });
    await until(() => statuses.has(503) && statuses.has(429), 'some are told to come again');
    release();
    const all = await Promise.all(asked);
    const of = (status: number) => all.filter((seen) => seen.status === status);
    expect(of(200).length).toBeGreaterThan(0);
    expect(of(200).length + of(429).length + of(503).length).toBe(400);
    expect([of(503).length > 0, of(429).length > 0]).toEqual([true, true]);
    for (const { headers, document } of [...of(429), ...of(503)]) {
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      const { error } = document as { error: { type: string } };
      expect(['rate_limited', 'service_unavailable']).toContain(error.type);
    }
    expect(broker.configfs.reports).toBe(of(200).length);
    expect([broker.configfs.mostOpen, broker.configfs.open]).toEqual([1, 0]);
    // The minute of the rate limit is over.
    clock.nowMs += 60_000;
    expect((await askForEvidence(broker.origin, freshNonce())).status).toBe(200);
  });
});
