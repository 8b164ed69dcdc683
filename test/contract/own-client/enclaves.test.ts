import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { verifyNvidia, verifySnp } from '@sotto/attestation';
import { verifyProviderUnder, verifyTdxUnder } from '@sotto/attestation/testing';
import type { EnclaveExchange, EnclavePins } from '@sotto/client';
import { checkReceipts, fetchOver, makePrivateClient, nodePlatform } from '@sotto/client/testing';
import { isRefusedByDefault } from '@sotto/wire';
import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { type EnclaveKind, enclaveKinds, familyOf } from '../../kit/enclaves/enclave-kinds.ts';
import { startEnclaves } from '../../kit/enclaves/start-enclaves.ts';
import { testMeasurement } from '../../kit/enclaves/test-ground.ts';
import { useFolder } from '../../kit/folder.ts';
import { runSotto } from '../../kit/run-sotto.ts';
import type { TestAccount } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';

const folder = useFolder('pins');
const secret = 'THE-WORDS-THAT-MUST-NOT-LEAVE';
const policy = { minimum_privacy: 'e2ee' };

await describeStage(
  'our client and providers in enclaves',
  async () => {
    const spec = await startEnclaves();
    // Even sealed content goes to the provider over TLS, so the broker must trust the provider's certificate.
    const { ca } = JSON.parse(await readFile(spec.enclaves ?? '', 'utf8')) as { ca: string };
    const caFile = join(dirname(spec.enclaves ?? ''), 'ca.pem');
    await writeFile(caFile, ca);
    return { ...spec, environment: { NODE_EXTRA_CA_CERTS: caFile } };
  },
  (stage) => {
    let account: TestAccount;
    beforeAll(async () => {
      account = await stage.service.createAccount();
    });

    const pinsOf = (kind: EnclaveKind): EnclavePins => ({
      family: familyOf(kind),
      models: { [`sealed/${kind}`]: stage.standIns.provider(kind).upstreamModel },
      measurements: [testMeasurement],
    });

    /**
     * Creates a client that trusts the test's vendor in place of Intel. `changes` apply to the pins for `sealed-near`.
     */
    const client = (...of: Parameters<typeof connect>) => connect(...of).openai;
    function connect(pinned = testMeasurement, changes: Partial<EnclavePins> = {}, acceptRelayAttacks = true) {
      const exchanges: EnclaveExchange[] = [];
      const { controlUrl: controlOrigin, baseUrl: baseOrigin } = stage.service;
      const providers = Object.fromEntries(
        enclaveKinds.map((kind) => [
          `sealed-${kind}`,
          { ...pinsOf(kind), measurements: [pinned], ...(kind === 'near' ? changes : {}) },
        ]),
      );
      const { machine } = stage.standIns.ground;
      const { exchange, origin, session } = makePrivateClient(
        nodePlatform({ selfSigned: false }),
        {
          apiKey: account.inferenceKey,
          controlOrigin,
          baseOrigin,
          allowSimulated: true,
          acceptRelayAttacks,
          onEnclaveExchange: (each) => exchanges.push(each),
          pins: { gateway: {}, providers },
        },
        {
          verifyProvider: (document, challenge) =>
            verifyProviderUnder(
              {
                verifyTdx: (evidence, time, terms) => verifyTdxUnder(machine.root.anchor, evidence, time, terms),
                verifySnp,
                verifyNvidia,
              },
              document,
              challenge,
            ),
        },
      );
      const openai = new OpenAI({
        apiKey: 'never-sent',
        baseURL: baseOrigin,
        fetch: fetchOver(exchange, origin),
        maxRetries: 0,
      });
      return { openai, session, exchanges };
    }
    const ask = (kind: EnclaveKind, messages: { role: 'user' | 'assistant'; content: string }[], openai = client()) =>
      openai.chat.completions.create({ model: `sealed/${kind}`, messages, ...({ provider: policy } as object) });

    describe.each(enclaveKinds)('%s', (kind) => {
      it('answers over several turns, whole and streamed, and no hop between can read them', async () => {
        const openai = client();
        const whole = await ask(kind, [{ role: 'user', content: secret }], openai);
        expect(whole.choices[0]?.message.content).toBe(`You said: ${secret}`);
        expect(whole.model).toBe(`sealed/${kind}`);
        const turns = [
          { role: 'user' as const, content: secret },
          { role: 'assistant' as const, content: `You said: ${secret}` },
          { role: 'user' as const, content: `${secret} again` },
        ];
        const stream = await openai.chat.completions.create({
          model: `sealed/${kind}`,
          messages: turns,
          stream: true,
          ...({ provider: policy } as object),
        });
        let text = '';
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
        expect(text).toBe(`You said: ${secret} again`);
        // The enclave lists content that arrives in clear.
        expect(stage.standIns.provider(kind).heard).toEqual([]);
        expect(stage.service.logs()).not.toContain(secret);
      });

      it('is served without a further option only if a malicious broker could not read it', async () => {
        const question = [{ role: 'user' as const, content: secret }];
        const answered = ask(kind, question, client(testMeasurement, {}, false));
        if (!isRefusedByDefault(familyOf(kind))) {
          expect((await answered).choices[0]?.message.content).toBe(`You said: ${secret}`);
          return;
        }
        const failure = await answered.catch((error: unknown) => error);
        expect(failure).toMatchObject({
          status: 400,
          code: 'e2ee_relay_can_read',
          message: expect.stringContaining('A malicious broker can read your prompts and the replies'),
        });
      });

      it('sends nothing if the measurements differ from the pinned ones', async () => {
        const failure = await ask(
          kind,
          [{ role: 'user', content: secret }],
          client(testMeasurement.replace('mr_td=0', 'mr_td=1')),
        ).catch((error: unknown) => error);
        expect((failure as Error).cause).toMatchObject({
          code: 'attestation_untrusted',
          message: expect.stringContaining('provider.measurement'),
        });
      });
    });

    it.each([
      ['near', false],
      ['near', true],
      ['tinfoil', true],
    ] as const)(
      'verifies the receipts of an exchange with %s, streamed: %s, by the secret alone',
      async (kind, stream) => {
        const { openai, session, exchanges } = connect();
        const receipt = randomBytes(32).toString('hex');
        const asked = { model: `sealed/${kind}`, messages: [{ role: 'user' as const, content: secret }], stream };
        const answer = await openai.chat.completions.create(
          { ...asked, ...({ provider: policy } as object) },
          { headers: { 'x-router-receipt': receipt } },
        );
        if (Symbol.asyncIterator in answer) for await (const _ of answer);
        const [exchange] = exchanges;
        if (exchange === undefined) throw new Error('no exchange was told');
        const { broker = [], enclave = [] } = await checkReceipts({ session, exchange, secret: receipt });
        const outcomes = (checks: readonly { readonly outcome: string }[]) =>
          new Set(checks.map(({ outcome }) => outcome));
        expect(outcomes(broker)).toEqual(new Set(['passed']));
        if (kind === 'tinfoil') return expect(enclave).toBe('none');
        expect(outcomes(enclave as [])).toEqual(new Set(['passed']));
        // A reply that the broker wrote or changed has another hash than the enclave signed.
        const forged = { ...exchange, responseSha256: 'ab'.repeat(32) };
        const found = await checkReceipts({ session, exchange: forged, secret: receipt });
        for (const checks of [found.broker, found.enclave]) {
          expect(checks).toContainEqual(expect.objectContaining({ name: 'receipt.response', outcome: 'failed' }));
        }
        expect(stage.service.logs()).not.toContain(receipt);
      },
    );

    it.each<[string, Partial<EnclavePins>, string]>([
      ['another family', { family: 'venice' }, 'provider.route'],
      ['another model of the provider', { models: { 'sealed/near': 'stand-in/other' } }, 'provider.route'],
      ['no model', { models: {} }, 'add "models": {"sealed/near": "<the provider\'s own name for it>"}'],
    ])('sends nothing if the pins name %s', async (_, changes, message) => {
      const messages = [{ role: 'user' as const, content: secret }];
      const failure = await ask('near', messages, client(testMeasurement, changes)).catch((error: unknown) => error);
      expect((failure as Error).cause).toMatchObject({
        code: 'attestation_untrusted',
        message: expect.stringContaining(message),
      });
    });

    /** Runs `sotto verify` for the enclave behind `sealed/near`. */
    async function report(pins: object, more: readonly string[] = []) {
      const file = join(folder, 'pins.json');
      await writeFile(file, JSON.stringify(pins));
      const { baseUrl, controlUrl } = stage.service;
      const asked = ['--model', 'sealed/near', '--control-url', controlUrl, '--pins', file, ...more];
      const run = runSotto(['verify', baseUrl, ...asked], { INFERENCE_KEY: account.inferenceKey });
      return { code: await run.ended, out: run.out(), err: run.err() };
    }

    it('the command requires the same pins: it reports what a route lacks, and never fills it in from the document', async () => {
      const unpinned = await report({ gateway: {} });
      expect(unpinned.code).toBe(1);
      expect(unpinned.out).toMatch(
        /Provider +sealed-near, for sealed\/near\nVerdict +untrusted\nUp to date +NOT SHOWN: tdx\.tcb_info .*\n/,
      );
      expect(unpinned.out).toMatch(/skipped +provider\.route +the pins of sealed-near name no family: add "family"/);
      expect(unpinned.out).toMatch(/skipped +provider\.key_binding/);
      const { models: _, ...withoutModels } = pinsOf('near');
      expect((await report({ gateway: {}, providers: { 'sealed-near': withoutModels } })).out).toMatch(
        /skipped +provider\.route +the pins of sealed-near do not name sealed\/near: add "models"/,
      );
      const { family: __, ...withoutFamily } = pinsOf('near');
      const refused = await report({ gateway: {}, providers: { 'sealed-near': withoutFamily } });
      expect(refused).toMatchObject({
        code: 2,
        err: expect.stringContaining('`providers.sealed-near.family` must be one'),
      });
    });

    it('the command verifies the class that its user names, not the class that the service lists', async () => {
      const asTee = await report({ gateway: {}, providers: { 'sealed-near': pinsOf('near') } }, ['--privacy', 'tee']);
      expect(asTee.code).toBe(1);
      expect(asTee.out).toMatch(/no evidence: no_provider_route_meets_privacy: .*serves this model as `tee`/);
    });

    it('the command reports that an enclave under its own root is not Intel’s', async () => {
      const found = await report({ gateway: {}, providers: { 'sealed-near': pinsOf('near') } });
      expect(found.code).toBe(1);
      expect(found.out).toMatch(
        /Provider +sealed-near, for sealed\/near\nVerdict +untrusted\nUp to date +NOT SHOWN: tdx\.tcb_info .*\nContent +the enclave, and a malicious broker can read it/,
      );
      expect(found.out).toMatch(/passed +provider\.route\n/);
      expect(found.out).toMatch(/FAILED +tdx\.pck_chain/);
    });

    it('a provider that shows evidence for its own nonce is detected, and gets nothing', async () => {
      const provider = stage.standIns.provider('venice');
      provider.tamper = (shown) => ({ ...shown, nonce: 'ab'.repeat(32) });
      const failure = await ask('venice', [{ role: 'user', content: secret }]).catch((error: unknown) => error);
      provider.tamper = (shown) => shown;
      expect((failure as Error).cause).toMatchObject({
        code: 'attestation_untrusted',
        message: expect.stringContaining('provider.freshness'),
      });
    });
  },
);
