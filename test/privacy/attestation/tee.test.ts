import { randomBytes } from 'node:crypto';
import { meetsVerdict, verifyProviderReceipt } from '@sotto/attestation';
import { sealChat } from '@sotto/client';
import { vouchForKey } from '@sotto/client/testing';
import { relayRules } from '@sotto/wire';
import { beforeAll, describe, expect, it } from 'vitest';
import { type EnclaveKind, enclaveKinds } from '../../kit/enclaves/enclave-kinds.ts';
import { type Spare, startEnclaves } from '../../kit/enclaves/start-enclaves.ts';
import { daysFromNow } from '../../kit/enclaves/test-ground.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { disguises, found, searchable } from '../canary/disguises.ts';
import { readSinks } from '../canary/sinks.ts';
import { open, opened, type Prepared } from '../sealed/ask.ts';
import { askingOf, evidenceSuite, secret } from './evidence.suite.ts';
import { outcomes } from './world.ts';

/** The families whose evidence binds a TLS key. */
const reachable = ['near', 'phala-aci', 'tinfoil', 'chutes'] as const satisfies readonly EnclaveKind[];

await describeStage(
  'providers in enclaves',
  startEnclaves,
  (stage) => {
    let account: TestAccount;
    beforeAll(async () => {
      account = await stage.service.createAccount();
    });
    const { chat, control, mint, present, errorOf, newNonce, verify, logged } = askingOf(stage, () => account);

    describe('chat on a tee route', () => {
      it.each(reachable)('%s: goes into the verified enclave, whole and streamed, turn by turn', async (kind) => {
        const provider = stage.standIns.provider(kind);
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
        expect(stage.standIns.provider(kind).heard).toEqual([]);
        await logged(() => refusals(`tee/${kind}@${kind}`).includes('provider.tls_binding'));
      });

      it('asks for evidence once for many requests, concurrent ones included', async () => {
        const provider = stage.standIns.provider('second');
        const answers = await Promise.all(Array.from({ length: 8 }, () => chat('tee/second')));
        expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
        expect((await chat('tee/second')).status).toBe(200);
        expect(provider.asked).toBe(1);
      });

      it('follows a provider that changes its TLS key: it verifies again before it sends anything', async () => {
        const provider = stage.standIns.provider('rotating');
        expect((await chat('tee/rotating')).status).toBe(200);
        await provider.rotate();
        provider.dropConnections();
        expect((await chat('tee/rotating')).status).toBe(200);
        expect(provider.asked).toBe(2);
        expect(provider.heard).toHaveLength(2);
      });

      it('tries the next enclave if the first cannot be verified', async () => {
        stage.standIns.provider('first').isSilent = true;
        const answer = await chat('tee/two', { provider: { sort: 'price', minimum_privacy: 'tee' } });
        expect(answer.status).toBe(200);
        expect(answer.headers.get('x-router-provider')).toBe('second');
        expect(answer.headers.get('x-router-provider-attempts')).toBe('2');
        expect(stage.standIns.provider('first').heard).toEqual([]);
      });
    });

    /** The failed checks, according to the broker's log. */
    const refusals = (route: string): string[] =>
      stage.service
        .logs()
        .split('\n')
        .filter((line) => line.includes('"enclave refused"') && line.includes(`"${route}"`))
        .flatMap((line) => (JSON.parse(line) as { checks: { name: string }[] }).checks.map(({ name }) => name));

    describe('a provider that tampers is detected before any content leaves', () => {
      const stranger = async () => (await stage.standIns.ground.certifyServer()).spki;
      const cases: readonly [string, Spare, () => Promise<void>, string][] = [
        [
          'evidence for a nonce of its own',
          'nonce',
          async () => {
            stage.standIns.provider('nonce').tamper = (shown) => ({ ...shown, nonce: 'ab'.repeat(32) });
          },
          'provider.freshness',
        ],
        [
          'evidence of another model',
          'model',
          async () => {
            const provider = stage.standIns.provider('model');
            provider.tamper = (shown) => ({ ...shown, model: 'stand-in/other' });
          },
          'provider.key_binding',
        ],
        [
          'collateral that has expired',
          'expired',
          () =>
            stage.standIns.ground.publish({ tcbInfo: { issueDate: daysFromNow(-40), nextUpdate: daysFromNow(-1) } }),
          'tdx.collateral_dates',
        ],
        ['no measurement that the registry pins', 'unpinned', async () => {}, 'provider.measurement'],
      ];
      it.each(cases)('%s', async (_, name, tamper, check) => {
        await tamper();
        const answer = await chat(`tee/${name}`);
        await stage.standIns.ground.publish();
        expect(answer.status).toBe(502);
        expect((await errorOf(answer)).type).toBe('provider_error');
        expect(stage.standIns.provider(name).heard).toEqual([]);
        await logged(() => refusals(`tee/${name}@${name}`).includes(check));
      });

      it('with evidence of another TLS key than the connection shows', async () => {
        const other = await stranger();
        stage.standIns.provider('spki').tamper = (shown) => ({ ...shown, tlsSpki: other });
        expect((await chat('tee/spki')).status).toBe(502);
        expect(stage.standIns.provider('spki').heard).toEqual([]);
        await logged('"route":"tee/spki@spki","outcome":"attestation_failed"');
      });

      it('with a load balancer that shows evidence on one key and takes content on another', async () => {
        const provider = stage.standIns.provider('balanced');
        expect((await chat('tee/balanced')).status).toBe(200);
        await provider.rotate({ attested: false });
        provider.dropConnections();
        expect((await chat('tee/balanced')).status).toBe(502);
        expect(provider.heard).toHaveLength(1);
      });

      it('without any evidence', async () => {
        stage.standIns.provider('silent').isSilent = true;
        expect((await chat('tee/silent')).status).toBe(502);
        expect(stage.standIns.provider('silent').heard).toEqual([]);
        await logged('"route":"tee/silent@silent","reason":"it answered 503"');
      });

      it('no log contains a word of the requests', () => {
        expect(stage.service.logs()).not.toContain(secret);
      });
    });

    evidenceSuite(stage, () => account);

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
            const { ticket } = await stage.service.mintTicket(account.inferenceKey, { model, provider: policy });
            const { family } = key;
            const prepared: Prepared = {
              sealed,
              stream: true,
              headers: {
                ...sealed.headers,
                'content-type': relayRules[family].contentType,
                'x-router-ticket': ticket,
                'x-router-e2ee': JSON.stringify({ family, model, provider: policy, stream: true }),
              },
              body: Buffer.from(sealed.body),
            };
            const answer = await open(stage.service, prepared).answer;
            expect(answer.status, answer.bytes.toString()).toBe(200);
            expect(answer.headers['x-router-privacy-class']).toBe('e2ee');
            expect(answer.headers['x-router-provider-request-id']).toMatch(/^preq_/);
            expect(answer.bytes.includes(said)).toBe(false);
            const text = await opened(prepared, answer);
            expect(text).toBe(`You said: ${said}`);
            messages.push({ role: 'assistant', content: text });
          }
        },
      );
    });

    describe("the enclave's own receipt", () => {
      it('appears soon after the answer, covers the exact bytes, and is signed by the attested key', async () => {
        const provider = stage.standIns.provider('near');
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

      it('is not disclosed to a guessed id', async () => {
        for (const id of ['preq_aaaaaaaaaaaaaaaaaaaaaa', 'x', '..%2f..%2fx']) {
          expect((await control(`/tee/signature/${id}`)).status).toBe(404);
        }
      });
    });

    it('no log, row or Redis value holds what was said to an enclave or by one', async () => {
      const marker = `canary${randomBytes(12).toString('hex')}`;
      const said = 'Hello there, this is a provider';
      const ask = (model: string, stream: boolean): Promise<string> =>
        chat(model, { messages: [{ role: 'user', content: marker }], stream }).then((answer) => answer.text());
      for (const kind of reachable) {
        expect(await ask(`tee/${kind}`, false), kind).toContain(said);
        expect(await ask(`tee/${kind}`, true), kind).toContain('Hello');
      }
      await stage.service.settled(account);
      const { service } = stage;
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
