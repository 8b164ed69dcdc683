import { randomBytes } from 'node:crypto';
import { providerEvidenceSchema, verifyNvidia, verifySnp } from '@sotto/attestation';
import { verifyProviderUnder, verifyTdxUnder } from '@sotto/attestation/testing';
import { describe, expect, it } from 'vitest';
import { type EnclaveKind, enclaveKinds, familyOf } from '../../kit/enclaves/enclave-kinds.ts';
import type { Enclaves } from '../../kit/enclaves/start-enclaves.ts';
import { testMeasurement } from '../../kit/enclaves/test-ground.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import type { Stage } from '../../kit/stage/stage.ts';
import { outcomes } from './world.ts';

/** The evidence of enclaves that the service hands to clients. */
export function evidenceSuite(stage: Stage<Enclaves>, account: () => TestAccount): void {
  const { chat, control, mint, present, errorOf, newNonce, verify } = askingOf(stage, account);

  describe('evidence for any client', () => {
    it.each(enclaveKinds)(
      "%s: is of the requested route, with our nonce, up to the route's verification ceiling",
      async (kind) => {
        const nonce = newNonce();
        const query = new URLSearchParams({ model: `sealed/${kind}`, provider: `sealed-${kind}`, nonce });
        const answer = await control(`/tee/attestation?${query}`);
        expect(answer.status, await answer.clone().text()).toBe(200);
        expect(answer.headers.get('cache-control')).toBe('no-store');
        const document = providerEvidenceSchema.parse(await answer.json());
        const asked = { nonce, provider: `sealed-${kind}`, model: `sealed/${kind}`, privacyClass: 'e2ee' } as const;
        const result = await verify(document, asked, kind);
        expect(outcomes(result.checks, 'failed')).toEqual([]);
        expect(result).toMatchObject({
          verdict: kind === 'tinfoil' ? 'policy_matched' : 'cryptographically_checked',
          isCurrent: true,
        });
        const { publicKey } = stage.standIns.provider(kind).enclave.nextKey();
        expect(Buffer.from(result.key?.publicKey ?? []).equals(publicKey)).toBe(true);
        const stale = await verify(document, { ...asked, nonce: newNonce() }, kind);
        expect(stale.verdict).toBe('untrusted');
      },
    );

    it('needs one ticket, once, and no key on the content plane', async () => {
      const ticket = await mint({ model: 'tee/near' });
      const nonce = newNonce();
      const answer = await present(ticket, { nonce: nonce.toUpperCase() });
      expect(answer.status, await answer.clone().text()).toBe(200);
      const result = await verify(await answer.json(), {
        nonce,
        provider: 'near',
        model: 'tee/near',
        privacyClass: 'tee',
      });
      expect(result).toMatchObject({ verdict: 'policy_matched' });
      const again = await present(ticket, { nonce });
      expect([again.status, (await errorOf(again)).type]).toEqual([401, 'invalid_ticket']);
    });

    it('is free: an account without money gets it too, and nothing is held or charged', async () => {
      const poor = await stage.service.createAccount({ usd: 0 });
      const answer = await present(await mint({ model: 'tee/near' }, poor.inferenceKey), { nonce: newNonce() });
      expect(answer.status, await answer.clone().text()).toBe(200);
      expect(await stage.service.settled(poor)).toBe(0n);
    });

    it('leaves a ticket valid if it came with a bad nonce or to the wrong place', async () => {
      const ticket = await mint({ model: 'tee/near' });
      for (const nonce of ['ab', 'g'.repeat(64), `0x${'a'.repeat(64)}`, undefined]) {
        const answer = await present(ticket, { nonce });
        expect([answer.status, (await errorOf(answer)).type]).toEqual([400, 'invalid_request']);
      }
      const misplaced = await fetch(`${stage.service.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { 'x-router-ticket': ticket, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'tee/near', messages: [{ role: 'user', content: 'hi' }] }),
      });
      expect([misplaced.status, (await errorOf(misplaced)).type]).toEqual([401, 'invalid_ticket']);
      expect((await present(ticket, { nonce: newNonce() })).status).toBe(200);
    });

    it('is refused for a key and for a chat ticket, which stays valid', async () => {
      const { ticket } = await stage.service.mintTicket(account().inferenceKey, { model: 'tee/near' });
      const mismatch = await present(ticket, { nonce: newNonce() });
      expect([mismatch.status, (await errorOf(mismatch)).type]).toEqual([401, 'invalid_ticket']);
      const chat = await fetch(`${stage.service.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { 'x-router-ticket': ticket, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'tee/near', messages: [{ role: 'user', content: 'hi' }] }),
      });
      expect(chat.status).not.toBe(401);
      const keyed = await fetch(`${stage.service.baseUrl}/tee/attestation`, {
        method: 'POST',
        headers: { authorization: `Bearer ${account().inferenceKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ nonce: newNonce() }),
      });
      expect([keyed.status, (await errorOf(keyed)).type]).toEqual([401, 'ticket_required']);
      // A proxy may use another scheme for itself. It does not matter beside a ticket.
      const proxied = { authorization: 'Basic eDp5' };
      const attested = await present(await mint({ model: 'tee/near' }), { nonce: newNonce() }, proxied);
      expect(attested.status, await attested.clone().text()).toBe(200);
    });

    it.each<[string, string, number, string]>([
      ['a model that nobody knows', `model=tee/none&nonce=${'a'.repeat(64)}`, 404, 'model_not_found'],
      [
        'a provider that does not serve it',
        `model=tee/near&provider=venice&nonce=${'a'.repeat(64)}`,
        400,
        'no_provider_route',
      ],
      ['a nonce that is too short', 'model=tee/near&nonce=aa', 400, 'invalid_request'],
      ['two nonces', `model=tee/near&nonce=${'a'.repeat(64)}&nonce=${'a'.repeat(64)}`, 400, 'invalid_request'],
      ['no model', `nonce=${'a'.repeat(64)}`, 400, 'invalid_request'],
      ['a parameter that there is none of', `model=tee/near&nonce=${'a'.repeat(64)}&x=1`, 400, 'invalid_request'],
    ])('is refused for %s', async (_, query, status, type) => {
      const answer = await control(`/tee/attestation?${query}`);
      expect([answer.status, (await errorOf(answer)).type]).toEqual([status, type]);
    });

    it('answers a temporary error while the provider gives none', async () => {
      const query = new URLSearchParams({ model: 'tee/silent', nonce: newNonce() });
      const answer = await control(`/tee/attestation?${query}`);
      expect([answer.status, (await errorOf(answer)).type]).toEqual([503, 'service_unavailable']);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    });

    it('asks for a new ticket if the provider gives none after the ticket was used', async () => {
      const ticket = await mint({ model: 'tee/silent' });
      const refused = await present(ticket, { nonce: newNonce() });
      const error = await errorOf(refused);
      expect([refused.status, error.type]).toEqual([503, 'service_unavailable']);
      expect(error.message).toContain('with a new attestation ticket');
      expect(refused.headers.get('x-should-retry')).toBe('false');
      const again = await present(ticket, { nonce: newNonce() });
      expect([again.status, (await errorOf(again)).type]).toEqual([401, 'invalid_ticket']);
    });

    it('delays no request that needs the same provider, and limits concurrent callers', async () => {
      const provider = stage.standIns.provider('crowded');
      const release = provider.holdEvidence(4);
      const tickets = await Promise.all(Array.from({ length: 33 }, () => mint({ model: 'tee/crowded' })));
      const [last = '', ...crowd] = tickets;
      const waiting = crowd.map((ticket) => present(ticket, { nonce: newNonce() }));
      try {
        await until(() => provider.asked === 4, 'all connections for callers are taken');
        expect((await chat('tee/crowded')).status).toBe(200);
        const refused = await present(last, { nonce: newNonce() });
        expect([refused.status, (await errorOf(refused)).type]).toEqual([503, 'service_unavailable']);
        expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
        expect(refused.headers.get('x-should-retry')).toBeNull();
      } finally {
        release();
      }
      expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(crowd.map(() => 200));
      expect((await present(last, { nonce: newNonce() })).status).toBe(200);
    });

    it('needs an inference key on the control origin', async () => {
      const query = new URLSearchParams({ model: 'tee/near', nonce: newNonce() });
      expect((await fetch(`${stage.service.controlUrl}/tee/attestation?${query}`)).status).toBe(401);
      expect((await control(`/tee/attestation?${query}`, {}, account().managementKey)).status).toBe(403);
    });
  });
}

export const secret = 'the words that must not leave';

/** The requests that tests of enclave providers send to the service, and the checks of its answers. */
export function askingOf(stage: Stage<Enclaves>, account: () => TestAccount) {
  const chat = (model: string, body: object = {}): Promise<Response> =>
    fetch(`${stage.service.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account().inferenceKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: secret }], ...body }),
    });
  const control = (path: string, init: RequestInit = {}, key = account().inferenceKey): Promise<Response> =>
    fetch(`${stage.service.controlUrl}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
  const mint = async (body: object, key?: string): Promise<string> => {
    const answer = await control('/inference/attestation-tickets', { method: 'POST', body: JSON.stringify(body) }, key);
    expect(answer.status, await answer.clone().text()).toBe(200);
    return ((await answer.json()) as { ticket: string }).ticket;
  };
  const present = (ticket: string, body: object, more: Record<string, string> = {}): Promise<Response> =>
    fetch(`${stage.service.baseUrl}/tee/attestation`, {
      method: 'POST',
      headers: { 'x-router-ticket': ticket, 'content-type': 'application/json', ...more },
      body: JSON.stringify(body),
    });
  const errorOf = async (answer: Response) =>
    ((await answer.json()) as { error: { type: string; message: string } }).error;
  const newNonce = (): string => randomBytes(32).toString('hex');
  const verify = (
    document: unknown,
    asked: { nonce: string; provider: string; model: string; privacyClass: 'tee' | 'e2ee' },
    kind: EnclaveKind = 'near',
  ) =>
    verifyProviderUnder(
      {
        verifyTdx: (evidence, time, policy) =>
          verifyTdxUnder(stage.standIns.ground.machine.root.anchor, evidence, time, policy),
        verifySnp,
        verifyNvidia,
      },
      document,
      {
        ...asked,
        family: familyOf(kind),
        upstreamModel: stage.standIns.provider(kind).upstreamModel,
        pins: { measurements: [testMeasurement] },
        now: new Date(),
      },
    );

  /** Waits for a log line, because a process's output arrives a moment later. */
  const logged = (what: string | (() => boolean)): Promise<void> =>
    until(() => (typeof what === 'string' ? stage.service.logs().includes(what) : what()), `it is logged: ${what}`);
  return { chat, control, mint, present, errorOf, newNonce, verify, logged };
}
