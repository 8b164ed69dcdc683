import { request } from 'node:https';
import type { Audience, GatewayPins, KeySet } from '@sotto/attestation';
import { type EvidenceProducer, simulatedProducer } from '@sotto/attestation/producers';
import { TdxMachine } from '@sotto/attestation/testing';
import { makeEvidence } from '@sotto/confidential/testing';
import { FileError } from '@sotto/keeper/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConfigfsStandIn } from '../attestation/configfs-stand-in.ts';
import { clock, freshNonce, tdxGuest, verifier } from '../attestation/world.ts';
import {
  askOnce,
  clientKey,
  freshSecret,
  keeperPins,
  makeKeeper,
  postTo,
  registryDigest,
  type TestKeeper,
  verifyUnder,
} from './world.ts';

let keeper: TestKeeper;
let guest: { readonly configfs: ConfigfsStandIn; readonly producer: EvidenceProducer };
let pinned: GatewayPins;
let secrets: Record<string, string>;
let unreadable: string | undefined;

beforeAll(async () => {
  const machine = await TdxMachine.make();
  guest = await tdxGuest(machine);
  keeper = await makeKeeper({
    verify: verifyUnder(machine),
    now: clock.now,
    pins: () => pinned,
    secrets: () => {
      if (unreadable !== undefined) throw new FileError(unreadable);
      return secrets;
    },
  });
  await keeper.start();
});
beforeEach(() => {
  clock.reset();
  pinned = keeperPins;
  secrets = { ACME_API_KEY: 'sk-acme', TICKET_SEALING_KEY: freshSecret() };
  unreadable = undefined;
});
afterAll(async () => {
  await keeper.stop();
  await guest.configfs.stop();
});

const refusals = () => keeper.refused.at(-1)?.checks.map(({ name }) => name);

describe('the keeper', () => {
  it('releases its secrets to the machine that is pinned, and keeps up with its file', async () => {
    expect(await askOnce(keeper, guest.producer)).toEqual(secrets);
    secrets = { ACME_API_KEY: 'sk-next' };
    expect(await askOnce(keeper, guest.producer)).toEqual({ ACME_API_KEY: 'sk-next' });
    expect(keeper.released).toEqual([2, 1]);
  });

  it('takes the pins of clients that demand evidence of their own connections', async () => {
    pinned = { ...keeperPins, channel: true };
    expect(await askOnce(keeper, guest.producer)).toEqual(secrets);
  });

  it('releases nothing to a machine with another measurement, until it is pinned', async () => {
    const other = keeperPins.tdx?.measurements[0];
    if (other === undefined) throw new Error('nothing is pinned');
    pinned = {
      ...keeperPins,
      tdx: { minimum_evaluation_number: 18, measurements: [{ ...other, rtmr2: '11'.repeat(48) }] },
    };
    const reason = await askOnce(keeper, guest.producer);
    expect(reason).toBe(
      'keeper: it answered 403: The verdict is untrusted; hardware_verified is required. Failed: gateway.measurement.',
    );
    expect(refusals()).toContain('gateway.measurement');
    pinned = keeperPins;
    expect(await askOnce(keeper, guest.producer)).toEqual(secrets);
  });

  it('releases nothing to a broker that was pointed to another registry', async () => {
    const reason = await askOnce(keeper, guest.producer, { digest: 'cd'.repeat(32) });
    expect(reason).toContain('Failed: gateway.registry.');
  });

  it('releases nothing to a process that only simulates hardware', async () => {
    expect(await askOnce(keeper, await simulatedProducer())).toContain('403: The verdict is untrusted');
  });

  it('releases nothing to a machine under a root that is not the vendor’s', async () => {
    const foreign = await tdxGuest(await TdxMachine.make());
    expect(await askOnce(keeper, foreign.producer)).toContain('Failed: tdx.pck_chain');
    await foreign.configfs.stop();
  });

  it('answers 503 while its own file cannot be used, and logs the reason', async () => {
    unreadable = 'SECRETS_FILE: it contains no secret';
    expect(await askOnce(keeper, guest.producer)).toBe(
      'keeper: it answered 503: The keeper cannot use its own files. Its log says why.',
    );
    expect(keeper.unreadable).toEqual([unreadable]);
  });
});

describe('a client that is not a broker', () => {
  /** Evidence of the genuine machine, for a key and a nonce that the caller chooses. */
  const evidenceFor = (nonce: string, spkiSha256: string, audience: Audience = 'keeper') => {
    const keySet: KeySet = {
      service: 'sotto',
      not_after: Math.floor(clock.nowMs / 1000) + 600,
      provider_registry_digest: `sha256:${registryDigest}`,
      tls_public_keys: [{ origin: keeper.origin, spki_sha256: spkiSha256 }],
      receipt_signing_keys: [],
      e2ee_public_keys: [],
    };
    return makeEvidence(guest.producer, { audience, keySet, nonce, origin: keeper.origin });
  };
  const nonceOf = async (key: Awaited<ReturnType<typeof clientKey>>) =>
    (await postTo(keeper, '/v1/nonces', '{}', key)).body.nonce ?? '';

  it('gets nothing without a client certificate, and cannot make the keeper read a body', async () => {
    // Tries every way to write the paths.
    for (const path of ['/v1/nonces', '/v1/secrets', '/%761/nonces', '/v1/%73ecrets', `${keeper.origin}/v1/nonces`]) {
      expect(await postTo(keeper, path, '{}')).toMatchObject({
        status: 401,
        body: { error: { type: 'unauthenticated' } },
      });
    }
  });

  it('gets nothing with the evidence of a broker on its own connection', async () => {
    const [broker, thief] = [await clientKey(), await clientKey()];
    const nonce = await nonceOf(thief);
    const evidence = await evidenceFor(nonce, broker.spkiSha256);
    const answer = await postTo(keeper, '/v1/secrets', JSON.stringify({ nonce, evidence }), thief);
    expect(answer).toMatchObject({ status: 403 });
    expect(answer.body.error?.message).toContain('Failed: gateway.tls_key.');
  });

  it('gets nothing with replayed evidence, or with a nonce of its own making', async () => {
    const key = await clientKey();
    const nonce = await nonceOf(key);
    const body = JSON.stringify({ nonce, evidence: await evidenceFor(nonce, key.spkiSha256) });
    expect(await postTo(keeper, '/v1/secrets', body, key)).toMatchObject({ status: 200 });
    const again = await postTo(keeper, '/v1/secrets', body, key);
    expect(again).toMatchObject({ status: 409, body: { error: { type: 'conflict' } } });
    const own = freshNonce();
    const made = JSON.stringify({ nonce: own, evidence: await evidenceFor(own, key.spkiSha256) });
    expect(await postTo(keeper, '/v1/secrets', made, key)).toMatchObject({ status: 409 });
    const anothers = await nonceOf(await clientKey());
    const taken = JSON.stringify({ nonce: anothers, evidence: await evidenceFor(anothers, key.spkiSha256) });
    expect(await postTo(keeper, '/v1/secrets', taken, key)).toMatchObject({ status: 409 });
    const early = await nonceOf(key);
    clock.nowMs += 60_000;
    const late = JSON.stringify({ nonce: early, evidence: await evidenceFor(early, key.spkiSha256) });
    expect(await postTo(keeper, '/v1/secrets', late, key)).toMatchObject({ status: 409 });
  });

  it('gets its secrets with its own evidence in the form for clients, which brokers of version 0.1.0 show', async () => {
    const [broker, thief] = [await clientKey(), await clientKey()];
    const show = async (key: typeof broker) => {
      const nonce = await nonceOf(key);
      const evidence = await evidenceFor(nonce, broker.spkiSha256, 'client');
      return postTo(keeper, '/v1/secrets', JSON.stringify({ nonce, evidence }), key);
    };
    expect(await show(broker)).toMatchObject({ status: 200, body: { secrets } });
    const stolen = await show(thief);
    expect(stolen).toMatchObject({ status: 403 });
    expect(stolen.body.error?.message).toContain('Failed: gateway.tls_key.');
  });

  it('gets one of two answers if both requests show the same evidence at once', async () => {
    const key = await clientKey();
    const nonce = await nonceOf(key);
    const body = JSON.stringify({ nonce, evidence: await evidenceFor(nonce, key.spkiSha256) });
    const answers = await Promise.all([0, 1, 2, 3].map(() => postTo(keeper, '/v1/secrets', body, key)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
  });

  it('receives a description of its error', async () => {
    const key = await clientKey();
    const nonce = await nonceOf(key);
    for (const body of ['', '[]', '{"nonce":1}', '{"nonce":"0X","evidence":{}}', '{']) {
      const answer = await postTo(keeper, '/v1/secrets', body, key);
      expect(answer, body).toMatchObject({ status: 400, body: { error: { type: 'invalid_request' } } });
    }
    const malformed = await postTo(keeper, '/v1/secrets', JSON.stringify({ nonce, evidence: { version: 1 } }), key);
    expect(malformed.body.error?.message).toContain('Failed: gateway.format.');
    expect((await postTo(keeper, '/v1/elsewhere', '{}', key)).status).toBe(404);
  });

  it('does not block brokers with bodies that it begins and does not send', async () => {
    const key = await clientKey();
    const identity = { key: key.keyPem, cert: key.certificatePem, ca: keeper.ca, agent: false } as const;
    const headers = { 'content-type': 'application/json', 'content-length': 2 * 1024 * 1024 };
    const begun = Array.from({ length: 16 }, () => {
      const sent = request(new URL('/v1/secrets', keeper.origin), { method: 'POST', headers, ...identity });
      sent.on('error', () => {});
      return sent;
    });
    await Promise.all(begun.map((sent) => new Promise<void>((resolve) => void sent.write('{', () => resolve()))));
    // The keeper reads it and finds that it is not a request.
    const large = JSON.stringify({ padding: 'x'.repeat(200_000) });
    expect(await postTo(keeper, '/v1/secrets', large, key)).toMatchObject({ status: 400 });
    expect(await askOnce(keeper, guest.producer)).toEqual(secrets);
    for (const sent of begun) sent.destroy();
  });

  it('is told to wait when it asks too often', async () => {
    clock.nowMs += 60_000;
    const key = await clientKey();
    const statuses: number[] = [];
    for (let at = 0; at < 122; at += 1) statuses.push((await postTo(keeper, '/v1/nonces', '{}', key)).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(120);
    expect(statuses.at(-1)).toBe(429);
    clock.nowMs += 60_000;
  });
});

describe('a broker that asks', () => {
  it('shows the keeper nothing that a client would accept as evidence, though origin and nonce are the same', async () => {
    const shown: { document: unknown; nonce: string }[] = [];
    const machine = await TdxMachine.make();
    const own = await tdxGuest(machine);
    const curious = await makeKeeper({
      verify(document, challenge) {
        shown.push({ document, nonce: challenge.nonce });
        return verifyUnder(machine)(document, challenge);
      },
      now: clock.now,
      pins: () => pinned,
      secrets: () => secrets,
    });
    await curious.start();
    expect(await askOnce(curious, own.producer)).toEqual(secrets);
    await curious.stop();
    await own.configfs.stop();
    const [{ document, nonce } = expect.unreachable('the broker showed nothing')] = shown;
    // A browser cannot see the key of its connection, so it would have sent content to the keeper.
    const { verdict, checks } = await verifier({ tdx: machine })(
      { document, tlsSpki: undefined },
      { nonce, origin: curious.origin, pins: pinned },
    );
    const failed = checks.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
    expect({ verdict, failed }).toEqual({ verdict: 'untrusted', failed: ['gateway.report_data'] });
  });

  it('waits for a keeper of version 0.1.0 to be upgraded, and says which check refuses it', async () => {
    const machine = await TdxMachine.make();
    const own = await tdxGuest(machine);
    const former = await makeKeeper({
      verify: (document, { audiences: _, ...challenge }) => verifyUnder(machine)(document, challenge),
      now: clock.now,
      pins: () => pinned,
      secrets: () => secrets,
    });
    await former.start();
    expect(await askOnce(former, own.producer)).toBe(
      'keeper: it answered 403: The verdict is untrusted; hardware_verified is required. Failed: gateway.report_data.',
    );
    await former.stop();
    await own.configfs.stop();
  });

  it('does not talk to a keeper with an unknown certificate', async () => {
    const stranger = await makeKeeper({
      verify: verifyUnder(await TdxMachine.make()),
      pins: () => pinned,
      secrets: () => secrets,
    });
    await stranger.start();
    expect(await askOnce({ origin: stranger.origin, ca: keeper.ca }, guest.producer)).toMatch(/^keeper: [A-Z_]+$/);
    await stranger.stop();
  });

  it('accepts only its own secrets', async () => {
    for (const name of ['TRACES_URL', 'ATTESTATION_COLLATERAL_URL', 'OTHER_API_KEY']) {
      secrets = { ACME_API_KEY: 'sk-acme', [name]: 'https://elsewhere.example' };
      expect(await askOnce(keeper, guest.producer)).toBe(
        `keeper: it releases \`${name}\`, which this broker does not accept; remove it from SECRETS_FILE`,
      );
    }
  });

  it("does not start if its clock differs from the keeper's", async () => {
    const late = () => clock.nowMs + 301_000;
    expect(await askOnce(keeper, guest.producer, { now: late })).toBe(
      "keeper: its clock differs from this machine's by 301 s; correct the wrong one",
    );
    expect(await askOnce(keeper, guest.producer, { now: () => clock.nowMs + 299_000 })).toEqual(secrets);
  });
});
