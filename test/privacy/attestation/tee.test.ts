import { randomBytes } from 'node:crypto';
import {
  meetsVerdict,
  providerEvidenceSchema,
  verifyNvidia,
  verifyProviderReceipt,
  verifySnp,
} from '@sotto/attestation';
import { verifyProviderUnder, verifyTdxUnder } from '@sotto/attestation/testing';
import { sealChat } from '@sotto/client';
import { vouchForKey } from '@sotto/client/testing';
import { relayRules } from '@sotto/wire';
import { beforeAll, describe, expect, it } from 'vitest';
import { describeInBothPlanes } from '../../kit/both-planes.ts';
import { type EnclaveKind, enclaveKinds, familyOf } from '../../kit/enclaves/enclave-provider.ts';
import { daysFromNow, testMeasurement } from '../../kit/enclaves/test-ground.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import { disguises, found, searchable } from '../canary/disguises.ts';
import { readSinks } from '../canary/sinks.ts';
import { outcomes } from './outcomes.ts';
import { type Spare, startTeeWorld, type TeeWorld } from './tee-world.ts';

let made: TeeWorld | undefined;
const world = (): TeeWorld => {
  if (made === undefined) throw new Error('the enclaves run within tests and hooks only');
  return made;
};
const setup = async () => {
  made = await startTeeWorld();
  return made;
};

/** Whose evidence binds a TLS key. */
const reachable = ['near', 'phala-aci', 'tinfoil', 'chutes'] as const satisfies readonly EnclaveKind[];
const secret = 'the words that must not leave';

await describeInBothPlanes(
  'providers in enclaves',
  setup,
  (planes) => {
    let account: TestAccount;
    beforeAll(async () => {
      account = await planes.service.createAccount();
    });
    const chat = (model: string, body: object = {}): Promise<Response> =>
      fetch(`${planes.service.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${account.inferenceKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: secret }], ...body }),
      });
    const control = (path: string, init: RequestInit = {}, key = account.inferenceKey): Promise<Response> =>
      fetch(`${planes.service.controlUrl}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      });
    const mint = async (body: object, key?: string): Promise<string> => {
      const answer = await control(
        '/inference/attestation-tickets',
        { method: 'POST', body: JSON.stringify(body) },
        key,
      );
      expect(answer.status, await answer.clone().text()).toBe(200);
      return ((await answer.json()) as { ticket: string }).ticket;
    };
    const present = (ticket: string, body: object, more: Record<string, string> = {}): Promise<Response> =>
      fetch(`${planes.service.baseUrl}/tee/attestation`, {
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
            verifyTdxUnder(world().ground.machine.root.anchor, evidence, time, policy),
          verifySnp,
          verifyNvidia,
        },
        document,
        {
          ...asked,
          family: familyOf(kind),
          upstreamModel: world().provider(kind).upstreamModel,
          pins: { measurements: [testMeasurement] },
          now: new Date(),
        },
      );

    /** What a process has written arrives a moment later. */
    const logged = (what: string | (() => boolean)): Promise<void> =>
      until(() => (typeof what === 'string' ? planes.service.logs().includes(what) : what()), `it is logged: ${what}`);

    describe('chat on a tee route', () => {
      it.each(reachable)('%s: goes into the verified enclave, whole and streamed, turn by turn', async (kind) => {
        const provider = world().provider(kind);
        const whole = await chat(`tee/${kind}`);
        expect(whole.status, await whole.clone().text()).toBe(200);
        expect(whole.headers.get('x-router-privacy-class')).toBe('tee');
        expect(whole.headers.get('x-router-provider-request-id')).toMatch(/^preq_[\w-]{16,}$/);
        const turns = [
          { role: 'user', content: secret },
          { role: 'assistant', content: 'Hello there, this is a provider.' },
          { role: 'user', content: 'and on' },
        ];
        const streamed = await chat(`tee/${kind}`, { stream: true, messages: turns });
        expect(await streamed.text()).toMatch(/data: \[DONE\]\n\n$/);
        expect(provider.heard.at(-1)?.body.messages).toEqual(turns);
        expect(provider.heard).toHaveLength(2);
      });

      it.each(['phala-vllm-proxy', 'venice'] as const)('%s: binds no TLS key, so nothing is sent', async (kind) => {
        const answer = await chat(`tee/${kind}`);
        expect(answer.status).toBe(502);
        expect(await errorOf(answer)).toMatchObject({
          type: 'provider_error',
          message: expect.stringContaining('enclave'),
        });
        expect(world().provider(kind).heard).toEqual([]);
        await logged(() => refusals(`tee/${kind}@${kind}`).includes('provider.tls_binding'));
      });

      it('asks for evidence once for many requests, also for those that come at the same time', async () => {
        const provider = world().provider('second');
        const answers = await Promise.all(Array.from({ length: 8 }, () => chat('tee/second')));
        expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
        expect((await chat('tee/second')).status).toBe(200);
        expect(provider.asked).toBe(1);
      });

      it('follows a provider that changes its TLS key: verified again, and nothing sent before', async () => {
        const provider = world().provider('rotating');
        expect((await chat('tee/rotating')).status).toBe(200);
        await provider.rotate();
        provider.dropConnections();
        expect((await chat('tee/rotating')).status).toBe(200);
        expect(provider.asked).toBe(2);
        expect(provider.heard).toHaveLength(2);
      });

      it('goes on to the next enclave where the first cannot be verified', async () => {
        world().provider('first').isSilent = true;
        const answer = await chat('tee/two', { provider: { sort: 'price', minimum_privacy: 'tee' } });
        expect(answer.status).toBe(200);
        expect(answer.headers.get('x-router-provider')).toBe('second');
        expect(answer.headers.get('x-router-provider-attempts')).toBe('2');
        expect(world().provider('first').heard).toEqual([]);
      });
    });

    /** The checks that did not pass, by the broker's own log. */
    const refusals = (route: string): string[] =>
      planes.service
        .logs()
        .split('\n')
        .filter((line) => line.includes('"enclave refused"') && line.includes(`"${route}"`))
        .flatMap((line) => (JSON.parse(line) as { checks: { name: string }[] }).checks.map(({ name }) => name));

    describe('a provider that tampers is caught before any content leaves', () => {
      const stranger = async () => (await world().ground.certifyServer()).spki;
      const cases: readonly [string, Spare, () => Promise<void>, string][] = [
        [
          'evidence for a nonce of its own',
          'nonce',
          async () => {
            world().provider('nonce').tamper = (shown) => ({ ...shown, nonce: 'ab'.repeat(32) });
          },
          'provider.freshness',
        ],
        [
          'evidence of another model',
          'model',
          async () => {
            const provider = world().provider('model');
            provider.tamper = (shown) => ({ ...shown, model: 'stand-in/other' });
          },
          'provider.key_binding',
        ],
        [
          'collateral that has expired',
          'expired',
          () => world().ground.publish({ tcbInfo: { issueDate: daysFromNow(-40), nextUpdate: daysFromNow(-1) } }),
          'tdx.collateral_dates',
        ],
        ['no measurement that the registry pins', 'unpinned', async () => {}, 'provider.measurement'],
      ];
      it.each(cases)('%s', async (_, name, tamper, check) => {
        await tamper();
        const answer = await chat(`tee/${name}`);
        await world().ground.publish();
        expect(answer.status).toBe(502);
        expect((await errorOf(answer)).type).toBe('provider_error');
        expect(world().provider(name).heard).toEqual([]);
        await logged(() => refusals(`tee/${name}@${name}`).includes(check));
      });

      it('evidence of another TLS key than the connection shows', async () => {
        const other = await stranger();
        world().provider('spki').tamper = (shown) => ({ ...shown, tlsSpki: other });
        expect((await chat('tee/spki')).status).toBe(502);
        expect(world().provider('spki').heard).toEqual([]);
        await logged('"route":"tee/spki@spki","outcome":"attestation_failed"');
      });

      it('a load balancer that shows evidence on one key and takes content on another', async () => {
        const provider = world().provider('balanced');
        expect((await chat('tee/balanced')).status).toBe(200);
        await provider.rotate({ attested: false });
        provider.dropConnections();
        expect((await chat('tee/balanced')).status).toBe(502);
        expect(provider.heard).toHaveLength(1);
      });

      it('no evidence at all', async () => {
        world().provider('silent').isSilent = true;
        expect((await chat('tee/silent')).status).toBe(502);
        expect(world().provider('silent').heard).toEqual([]);
        await logged('"route":"tee/silent@silent","reason":"it answered 503"');
      });

      it('and no log has a word of what was asked', () => {
        expect(planes.service.logs()).not.toContain(secret);
      });
    });

    describe('evidence for whoever asks', () => {
      it.each(enclaveKinds)('%s: is of the route that was asked for, with our nonce, to its ceiling', async (kind) => {
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
          contentVisible: false,
          isCurrent: true,
        });
        const { publicKey } = world().provider(kind).enclave.nextKey();
        expect(Buffer.from(result.key?.publicKey ?? []).equals(publicKey)).toBe(true);
        const stale = await verify(document, { ...asked, nonce: newNonce() }, kind);
        expect(stale.verdict).toBe('untrusted');
      });

      it('by ticket, once, without a key on the content plane', async () => {
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
        expect(result).toMatchObject({ verdict: 'policy_matched', contentVisible: true });
        const again = await present(ticket, { nonce });
        expect([again.status, (await errorOf(again)).type]).toEqual([401, 'invalid_ticket']);
      });

      it('is free: an account without money has it too, and nothing is held or charged', async () => {
        const poor = await planes.service.createAccount({ usd: 0 });
        const answer = await present(await mint({ model: 'tee/near' }, poor.inferenceKey), { nonce: newNonce() });
        expect(answer.status, await answer.clone().text()).toBe(200);
        expect(await planes.service.settled(poor)).toBe(0n);
      });

      it('leaves a ticket valid that was presented with a bad nonce, or at the wrong place', async () => {
        const ticket = await mint({ model: 'tee/near' });
        for (const nonce of ['ab', 'g'.repeat(64), `0x${'a'.repeat(64)}`, undefined]) {
          const answer = await present(ticket, { nonce });
          expect([answer.status, (await errorOf(answer)).type]).toEqual([400, 'invalid_request']);
        }
        const misplaced = await fetch(`${planes.service.baseUrl}/chat/completions`, {
          method: 'POST',
          headers: { 'x-router-ticket': ticket, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'tee/near', messages: [{ role: 'user', content: 'hi' }] }),
        });
        expect([misplaced.status, (await errorOf(misplaced)).type]).toEqual([401, 'invalid_ticket']);
        expect((await present(ticket, { nonce: newNonce() })).status).toBe(200);
      });

      it('is not had with a ticket for chat, which stays valid, nor with a key', async () => {
        const { ticket } = await planes.service.mintTicket(account.inferenceKey, { model: 'tee/near' });
        const mismatch = await present(ticket, { nonce: newNonce() });
        expect([mismatch.status, (await errorOf(mismatch)).type]).toEqual([401, 'invalid_ticket']);
        const chat = await fetch(`${planes.service.baseUrl}/chat/completions`, {
          method: 'POST',
          headers: { 'x-router-ticket': ticket, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'tee/near', messages: [{ role: 'user', content: 'hi' }] }),
        });
        expect(chat.status).not.toBe(401);
        const keyed = await fetch(`${planes.service.baseUrl}/tee/attestation`, {
          method: 'POST',
          headers: { authorization: `Bearer ${account.inferenceKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ nonce: newNonce() }),
        });
        expect([keyed.status, (await errorOf(keyed)).type]).toEqual([401, 'ticket_required']);
        // Another scheme may be a proxy's own, and says nothing beside a ticket.
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

      it('is refused for now where the provider gives none', async () => {
        const query = new URLSearchParams({ model: 'tee/silent', nonce: newNonce() });
        const answer = await control(`/tee/attestation?${query}`);
        expect([answer.status, (await errorOf(answer)).type]).toEqual([503, 'service_unavailable']);
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      });

      it('is refused with the need of a new ticket where it is taken and the provider gives none', async () => {
        const ticket = await mint({ model: 'tee/silent' });
        const refused = await present(ticket, { nonce: newNonce() });
        const error = await errorOf(refused);
        expect([refused.status, error.type]).toEqual([503, 'service_unavailable']);
        expect(error.message).toContain('with a new attestation ticket');
        expect(refused.headers.get('x-should-retry')).toBe('false');
        const again = await present(ticket, { nonce: newNonce() });
        expect([again.status, (await errorOf(again)).type]).toEqual([401, 'invalid_ticket']);
      });

      it('keeps no request waiting that needs the same provider, and is not for a crowd at once', async () => {
        const provider = world().provider('crowded');
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
        expect((await fetch(`${planes.service.controlUrl}/tee/attestation?${query}`)).status).toBe(401);
        expect((await control(`/tee/attestation?${query}`, {}, account.managementKey)).status).toBe(403);
      });
    });

    describe('chat that is encrypted to the verified enclave', () => {
      it.each(enclaveKinds)(
        '%s: turn by turn, by the key of its evidence; the broker sees ciphertext',
        async (kind) => {
          const [provider, model] = [`sealed-${kind}`, `sealed/${kind}`];
          const messages: { role: string; content: string }[] = [];
          for (const said of [secret, 'and on']) {
            messages.push({ role: 'user', content: said });
            const nonce = newNonce();
            const evidence = await (await present(await mint({ model, provider }), { nonce })).json();
            const { verdict, key } = await verify(evidence, { nonce, provider, model, privacyClass: 'e2ee' }, kind);
            expect(meetsVerdict(verdict, 'policy_matched')).toBe(true);
            if (key === undefined) throw new Error('the evidence has no key');
            const sealed = await sealChat(vouchForKey(key), { model, messages, stream: true, max_tokens: 100 });
            const policy = { only: [provider], allow_fallbacks: false, minimum_privacy: 'e2ee' };
            const { ticket } = await planes.service.mintTicket(account.inferenceKey, { model, provider: policy });
            const { family } = key;
            const answer = await fetch(`${planes.service.baseUrl}/chat/completions`, {
              method: 'POST',
              headers: {
                ...sealed.headers,
                'content-type': relayRules[family].contentType,
                'x-router-ticket': ticket,
                'x-router-e2ee': JSON.stringify({ family, model, provider: policy, stream: true }),
              },
              body: Buffer.from(sealed.body),
            });
            const body = Buffer.from(await answer.arrayBuffer());
            expect(answer.status, body.toString()).toBe(200);
            expect(answer.headers.get('x-router-privacy-class')).toBe('e2ee');
            expect(answer.headers.get('x-router-provider-request-id')).toMatch(/^preq_/);
            expect(body.includes(said)).toBe(false);
            const opened = new Response(new Blob([body]).stream().pipeThrough(sealed.openStream(answer.headers)));
            const chunks = [...(await opened.text()).matchAll(/^data: (\{.*)$/gm)].map(
              ([, json]) => JSON.parse(String(json)) as { choices?: { delta?: { content?: string } }[] },
            );
            const text = chunks.map(({ choices }) => choices?.[0]?.delta?.content ?? '').join('');
            expect(text).toBe(`You said: ${said}`);
            messages.push({ role: 'assistant', content: text });
          }
        },
      );
    });

    describe("the enclave's own receipt", () => {
      it('is there soon after the answer, of the exact bytes, and signed by the attested key', async () => {
        const provider = world().provider('near');
        provider.signatureDelay = 1;
        const answer = await chat('tee/near', { stream: true });
        const id = String(answer.headers.get('x-router-provider-request-id'));
        const early = await control(`/tee/signature/${id}`);
        expect([early.status, (await errorOf(early)).type]).toEqual([404, 'not_found']);
        await answer.text();
        let receipt: Record<string, string> = {};
        await until(async () => {
          const found = await control(`/tee/signature/${id}`);
          receipt = (await found.json()) as Record<string, string>;
          return found.status === 200;
        }, 'the receipt is there');
        expect(receipt).toMatchObject({
          provider: 'near',
          model: 'tee/near',
          family: 'near',
          session_id: expect.stringMatching(/^[0-9a-f]{64}$/),
          signature_kind: 'provider_tee',
        });
        const nonce = newNonce();
        const evidence = await (await present(await mint({ model: 'tee/near' }), { nonce })).json();
        const { key } = await verify(evidence, { nonce, provider: 'near', model: 'tee/near', privacyClass: 'tee' });
        if (key === undefined) throw new Error('the evidence has no key');
        const { request_sha256: requestSha256 = '', response_sha256: responseSha256 = '' } = receipt;
        const checks = await verifyProviderReceipt(receipt, { requestSha256, responseSha256, key });
        expect(outcomes(checks, 'passed')).toHaveLength(5);
      });

      it('is not told to a guess', async () => {
        for (const id of ['preq_aaaaaaaaaaaaaaaaaaaaaa', 'x', '..%2f..%2fx']) {
          expect((await control(`/tee/signature/${id}`)).status).toBe(404);
        }
      });
    });

    it('after all of it no log, no row and nothing in Redis holds what was said to an enclave, or by one', async () => {
      const marker = `canary${randomBytes(12).toString('hex')}`;
      const said = 'Hello there, this is a provider';
      const ask = (model: string, stream: boolean): Promise<string> =>
        chat(model, { messages: [{ role: 'user', content: marker }], stream }).then((answer) => answer.text());
      for (const kind of reachable) {
        expect(await ask(`tee/${kind}`, false), kind).toContain(said);
        expect(await ask(`tee/${kind}`, true), kind).toContain('Hello');
      }
      await planes.service.settled(account);
      const { service } = planes;
      const ear = { heard: () => '', close: () => {} };
      const sinks = await readSinks(service, { ear, errors: ['none'] });
      for (const [name, sink] of Object.entries(sinks)) {
        expect(sink, name).not.toBe('');
        expect(
          found(searchable(sink), {
            it: disguises(marker),
            'the words of every test': disguises(secret),
            'what they say': disguises(said),
          }),
          name,
        ).toEqual([]);
      }
    });
  },
  { planes: ['two'] },
);
