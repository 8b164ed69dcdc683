import { randomBytes } from 'node:crypto';
import type { ProviderFamily } from '@sotto/attestation';
import {
  SnpMachine,
  TdxMachine,
  verifyProviderUnder,
  verifySnpUnder,
  verifyTdxUnder,
} from '@sotto/attestation/testing';
import { expect, it } from 'vitest';
import { answerFrom } from '../answer.ts';
import { tinfoilEnclave } from '../e2ee/testing/tinfoil-enclave.ts';
import type { ClientError } from '../errors.ts';
import type { Platform } from '../gateway/platform.ts';
import { simulatedEvidence } from '../gateway/testing/simulated-evidence.ts';
import type { EnclavePins } from '../pins/client-pins.ts';
import { fetchOver, makePrivateClient } from '../private/create-private-fetch.ts';

// The genuine, pinned enclave signs the address of its key and any nonce, as the enclaves of NEAR AI, dstack-vllm-proxy
// and Venice do. The hostile broker uses its own X25519 key as the nonce. It presents the quote as one of Tinfoil,
// where the same bytes are the encryption key.

const now = new Date('2026-01-15T00:00:00Z');
const model = 'sealed/model';
const secret = 'my secret diagnosis';
const [controlOrigin, baseOrigin] = ['http://127.0.0.1:4000', 'http://127.0.0.1:4001'];
const zeros = '00'.repeat(48);
const measurements = [`mr_td=${zeros},rtmr0=${zeros},rtmr1=${zeros},rtmr2=${zeros},rtmr3=${zeros}`];
const json = (body: unknown): Response =>
  new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' } });

/** A client whose broker tries to read the content. */
async function relayed(provider: string, pinned: EnclavePins | undefined) {
  const tdx = await TdxMachine.make();
  const snp = await SnpMachine.make('genoa');
  const address = randomBytes(20);
  const read: unknown[] = [];
  const broker = tinfoilEnclave({
    model: 'up/model',
    speak(messages) {
      read.push(...messages.map(({ content }) => content));
      return { content: ['written by the broker'] };
    },
  });
  const platform: Platform = {
    seesTlsKeys: true,
    readEvidence: async (origin, { nonce }) => ({ document: await simulatedEvidence(nonce, { origin }) }),
    openChannel: () => ({
      async send({ path, headers, body }) {
        const bytes = Buffer.from(body ?? '');
        if (path !== '/v1/tee/attestation') {
          const answer = await broker.answer({ headers, body: bytes });
          return answerFrom(
            new Response(Buffer.concat(answer.pieces), { status: answer.status, headers: answer.headers }),
          );
        }
        const { nonce } = JSON.parse(bytes.toString()) as { nonce: string };
        const reportData = Buffer.concat([address, Buffer.alloc(12), broker.nextKey().publicKey]);
        const quote = Buffer.from(await tdx.quote({ reportData: Uint8Array.from(reportData) })).toString('base64');
        return answerFrom(
          json({
            version: 'sotto.provider.evidence.v1',
            ...{ provider, model, upstream_model: 'up/model', privacy_class: 'e2ee', family: 'tinfoil', nonce },
            obtained_at: now.toISOString(),
            evidence: { machine: { tee_type: 'tdx', quote, collateral: await tdx.collateral() } },
          }),
        );
      },
      close: () => undefined,
    }),
  };
  const control = async (input: string | URL | Request): Promise<Response> =>
    new URL(String(input)).pathname === '/v1/models'
      ? json({ data: [{ id: model, provider_routes: [{ provider, privacy_class: 'e2ee', max_output_tokens: 300 }] }] })
      : json({ ticket: 'ticket', expires_at: new Date(Date.now() + 300_000).toISOString() });
  const providers = pinned === undefined ? {} : { [provider]: pinned };
  const { exchange } = makePrivateClient(
    platform,
    {
      ...{ apiKey: 'key', controlOrigin, baseOrigin, allowSimulated: true, ticketsAhead: 0, e2eeOnly: true },
      acceptRelayAttacks: true,
      pins: { gateway: {}, providers },
    },
    {
      fetch: control,
      verifyProvider: (document, challenge) =>
        verifyProviderUnder(
          {
            verifyTdx: (evidence, time, policy) => verifyTdxUnder(tdx.root.anchor, evidence, time, policy),
            verifySnp: (evidence, time, policy) => verifySnpUnder(snp.anchors, evidence, time, policy),
            verifyNvidia: async () => ({ standing: 'none', checks: [], gpus: [] }),
          },
          document,
          { ...challenge, now },
        ),
    },
  );
  const failure = await fetchOver(exchange, baseOrigin)(`${baseOrigin}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model, messages: [{ role: 'user', content: secret }] }),
  }).then(
    (answer) => expect.unreachable(`it was answered with ${answer.status}, and the broker read ${read.join()}`),
    (error: ClientError) => error,
  );
  return { failure, read };
}

it.each<ProviderFamily>(['near', 'venice', 'phala'])(
  'sends nothing if a quote of the %s enclave for the broker’s own key is presented as another family’s',
  async (family) => {
    const { failure, read } = await relayed(family, { family, models: { [model]: 'up/model' }, measurements });
    expect(failure).toMatchObject({ code: 'attestation_untrusted', message: expect.stringMatching(/provider\.route/) });
    expect(read).toEqual([]);
  },
);

it.each<[string, EnclavePins | undefined, RegExp]>([
  ['its provider', undefined, /pins of acme name no family: add "family", one of near, phala, venice, tinfoil, chutes/],
  [
    'its model',
    { family: 'tinfoil', measurements },
    /"models": \{"sealed\/model": "<the provider's own name for it>"\}/,
  ],
])('sends nothing if the pins do not name %s, and the error says what to add', async (_, pinned, message) => {
  const { failure, read } = await relayed('acme', pinned);
  expect(failure).toMatchObject({ code: 'attestation_untrusted', message: expect.stringMatching(message) });
  expect(read).toEqual([]);
});
