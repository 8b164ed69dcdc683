import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { verifyNvidia, verifySnp } from '@sotto/attestation';
import { verifyProviderUnder, verifyTdxUnder } from '@sotto/attestation/testing';
import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { nodePlatform } from '../../packages/client/src/platform/node-platform.ts';
import { makePrivateClient } from '../../packages/client/src/private/create-private-fetch.ts';
import { fetchOver } from '../../packages/client/src/private/private-fetch.ts';
import { startTeeWorld, type TeeWorld } from '../attestation/tee-world.ts';
import { describeInBothPlanes } from '../kit/both-planes.ts';
import { type EnclaveKind, enclaveKinds } from '../kit/enclaves/enclave-provider.ts';
import { testMeasurement } from '../kit/enclaves/test-ground.ts';
import type { TestAccount } from '../kit/service.ts';
import { runSotto } from './run-sotto.ts';

let made: TeeWorld | undefined;
const world = (): TeeWorld => made ?? expect.unreachable('the enclaves run within tests and hooks only');
const secret = 'THE-WORDS-THAT-MUST-NOT-LEAVE';
const policy = { minimum_privacy: 'e2ee' };

await describeInBothPlanes(
  'our client and providers in enclaves',
  async () => {
    made = await startTeeWorld();
    // Sealed content goes to the provider's address as everything does: its certificate has to be one that is known.
    const { ca } = JSON.parse(await readFile(made.enclaves ?? '', 'utf8')) as { ca: string };
    const caFile = join(dirname(made.enclaves ?? ''), 'ca.pem');
    await writeFile(caFile, ca);
    return { ...made, environment: { NODE_EXTRA_CA_CERTS: caFile } };
  },
  (planes) => {
    let account: TestAccount;
    beforeAll(async () => {
      account = await planes.service.createAccount();
    });

    /** As a user's, but that it knows the test's vendor in place of Intel. */
    function client(pinned = testMeasurement) {
      const { controlUrl: controlOrigin, baseUrl: baseOrigin } = planes.service;
      const providers = Object.fromEntries(enclaveKinds.map((kind) => [`sealed-${kind}`, { measurements: [pinned] }]));
      const { machine } = world().ground;
      const { exchange, origin } = makePrivateClient(
        nodePlatform({ selfSigned: false }),
        {
          apiKey: account.inferenceKey,
          controlOrigin,
          baseOrigin,
          allowSimulated: true,
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
      return new OpenAI({
        apiKey: 'never-sent',
        baseURL: baseOrigin,
        fetch: fetchOver(exchange, origin),
        maxRetries: 0,
      });
    }
    const ask = (kind: EnclaveKind, messages: { role: 'user' | 'assistant'; content: string }[], openai = client()) =>
      openai.chat.completions.create({ model: `sealed/${kind}`, messages, ...({ provider: policy } as object) });

    describe.each(enclaveKinds)('%s', (kind) => {
      it('talks over turns, whole and streamed, and nobody between reads along', async () => {
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
        // What comes in clear would be heard as such.
        expect(world().provider(kind).heard).toEqual([]);
        expect(planes.service.logs()).not.toContain(secret);
      });

      it('gets nothing where its measurements are not those that are pinned', async () => {
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

    it('an enclave under a root of its own is none of Intel’s: the command says so', async () => {
      const { baseUrl, controlUrl } = planes.service;
      const asked = ['--model', 'sealed/near', '--control-url', controlUrl];
      const report = runSotto(['verify', baseUrl, ...asked], { SOTTO_API_KEY: account.inferenceKey });
      expect(await report.ended).toBe(1);
      expect(report.out()).toMatch(
        /Provider +sealed-near, for sealed\/near\nVerdict +untrusted\nContent +only the enclave can read it/,
      );
      expect(report.out()).toMatch(/passed +provider\.route\n/);
      expect(report.out()).toMatch(/FAILED +tdx\.pck_chain/);
    });

    it('a provider that shows evidence for a nonce of its own is caught, and gets nothing', async () => {
      const provider = world().provider('venice');
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
