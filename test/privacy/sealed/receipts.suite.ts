import { createHash, randomBytes } from 'node:crypto';
import { type KeySet, receiptSchema, verifyReceipt } from '@sotto/attestation';
import { describe, expect, it } from 'vitest';
import { runSotto } from '../../kit/run-sotto.ts';
import { until } from '../../kit/service.ts';
import { open, type Prepared, prepare } from './ask.ts';
import { answerOf, beginSuite, type SealedStage } from './world.ts';

const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');
const secretNow = (): string => randomBytes(32).toString('hex');

export function receiptsSuite(stage: SealedStage): void {
  describe('a receipt', () => {
    const account = beginSuite(stage);

    const receiptOf = (secret: string): Promise<Response> =>
      fetch(`${stage.service.baseUrl}/inference/receipt`, { headers: { 'x-router-receipt': secret } });
    const keySetNow = async (): Promise<KeySet> => {
      const answer = await fetch(`${stage.service.baseUrl}/gateway/attestation?nonce=${secretNow()}`);
      expect(answer.status).toBe(200);
      return ((await answer.json()) as { key_set: KeySet }).key_set;
    };
    const outcomesOf = (checks: Awaited<ReturnType<typeof verifyReceipt>>): Record<string, string> =>
      Object.fromEntries(checks.map(({ name, outcome }) => [name.replace('receipt.', ''), outcome]));
    const withReceipt = (prepared: Prepared, secret: string): Prepared => {
      prepared.headers['x-router-receipt'] = secret;
      return prepared;
    };

    it.each([
      ['near-ed25519', false],
      ['venice', true],
      ['phala-aci-x25519', true],
      ['tinfoil', true],
      ['chutes', false],
    ] as const)('of %s, streamed: %s, is there with the last byte and verifies', async (kind, stream) => {
      const { service, standIns } = stage;
      const provider = standIns.provider(kind);
      const secret = secretNow();
      const prepared = withReceipt(await prepare(service, account, provider, { stream }), secret.toUpperCase());
      const answer = await open(service, prepared).answer;
      expect(answer.status).toBe(200);
      const got = await receiptOf(secret);
      expect(got.status).toBe(200);
      expect(got.headers.get('cache-control')).toBe('no-store');
      const receipt: unknown = await got.json();
      const checks = await verifyReceipt(receipt, await keySetNow(), {
        requestSha256: sha256(prepared.body),
        responseSha256: sha256(answer.bytes),
      });
      expect(new Set(Object.values(outcomesOf(checks)))).toEqual(new Set(['passed']));
      const read = receiptSchema.parse(receipt);
      expect(read).toMatchObject({ operation: 'chat', status: 200, complete: true });
      expect(read.issued_at % 60).toBe(0);
      expect(read.attempts).toEqual([
        {
          provider: kind,
          model: provider.model,
          upstream_model: expect.stringContaining('stand-in/model'),
          privacy_class: 'e2ee',
          session_id: null,
          forwarded_sha256: sha256(provider.seen[0]?.bytes ?? ''),
          answered_sha256: sha256(Buffer.concat(provider.seen[0]?.answer?.pieces ?? [])),
        },
      ]);
    });

    it('of a plaintext request names what was translated on the way, in either flow', async () => {
      const { service } = stage;
      const body = JSON.stringify({ model: 'plain/model', messages: [{ role: 'user', content: 'Say it.' }] });
      const { ticket } = await service.mintTicket(account.inferenceKey, { model: 'plain/model' });
      for (const credential of [
        { 'x-router-ticket': ticket },
        { authorization: `Bearer ${account.inferenceKey}` },
      ] as Record<string, string>[]) {
        const secret = secretNow();
        const answer = await fetch(`${service.baseUrl}/chat/completions`, {
          method: 'POST',
          headers: { ...credential, 'content-type': 'application/json', 'x-router-receipt': secret },
          body,
        });
        const text = await answer.text();
        expect(answer.status, text).toBe(200);
        const receipt: unknown = await (await receiptOf(secret)).json();
        const own = { requestSha256: sha256(body), responseSha256: sha256(text) };
        const outcomes = outcomesOf(await verifyReceipt(receipt, await keySetNow(), own));
        const { usage } = JSON.parse(text) as { usage: { cost: number; completion_tokens: number } };
        const { bill } = receiptSchema.parse(receipt);
        expect(bill).toMatchObject({ estimated: false, usage: { completion_tokens: usage.completion_tokens } });
        expect(Number(bill?.charge_nusd) / 1e9).toBe(usage.cost);
        const listed = await fetch(`${service.controlUrl}/catalog/models`);
        expect(bill?.catalog_digest).toBe(((await listed.json()) as { catalog_digest: string }).catalog_digest);
        const { unchanged, ...others } = outcomes;
        expect(unchanged).toBe('not_made');
        expect(new Set(Object.values(others))).toEqual(new Set(['passed']));
        expect(receiptSchema.parse(receipt).attempts).toMatchObject([
          {
            provider: 'plain',
            privacy_class: 'private',
            forwarded_sha256: sha256(stage.provider('plain').seen.at(-1)?.text ?? ''),
          },
        ]);
      }
    });

    it('is checked by `sotto verify-bill`: the arithmetic, and the signature by the key that the broker attests', async () => {
      const { service } = stage;
      const secret = secretNow();
      const answer = await fetch(`${service.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${account.inferenceKey}`, 'content-type': 'application/json' },
          'x-router-receipt': secret,
        },
        body: JSON.stringify({ model: 'plain/model', messages: [{ role: 'user', content: 'Say it.' }] }),
      });
      expect(answer.status, await answer.text()).toBe(200);
      const receipt = receiptSchema.parse(await (await receiptOf(secret)).json());
      const check = async (document: object, ...args: string[]) => {
        const own = runSotto(['verify-bill', '-', ...args]);
        own.child.stdin?.end(JSON.stringify(document));
        return [await own.ended, own.out() + own.err()] as const;
      };
      const at = ['--base-url', service.baseUrl, '--allow-simulated'];
      const [code, text] = await check(receipt, ...at);
      expect(code, text).toBe(0);
      expect(text).toMatch(/: adds up \(/);
      expect(text).toContain(
        `Signature valid: by the key ${receipt.key_id}, which ${new URL(service.baseUrl).origin} attests`,
      );
      expect(text).toContain('simulated evidence, which proves nothing');
      const zero = { ...receipt, signature: '0'.repeat(128) };
      const cheaper = { ...receipt, bill: receipt.bill && { ...receipt.bill, charge_nusd: '0' } };
      for (const forged of [zero, cheaper]) {
        const [invalid, said] = await check(forged, ...at);
        expect([invalid, said]).toEqual([1, expect.stringContaining('SIGNATURE NOT VALID: ')]);
      }
      expect(JSON.parse((await check(zero, ...at, '--json'))[1])).toMatchObject({
        result: 'exact',
        signature: { state: 'invalid', reason: expect.stringContaining(receipt.key_id) },
      });
      for (const [args, reason, document] of [
        [[], 'pass --base-url', receipt],
        [['--base-url', service.baseUrl], 'hardware_verified is required', receipt],
        [['--base-url', 'http://127.0.0.1:1'], 'the verdict on http://127.0.0.1:1 is unavailable', receipt],
        [at, 'does not attest the key receipt-other', { ...receipt, key_id: 'receipt-other' }],
      ] as const) {
        const [unknown, said] = await check(document, ...args);
        expect([unknown, said]).toEqual([3, expect.stringContaining(reason)]);
        expect(said).toContain('SIGNATURE NOT CHECKED: ');
      }
    });

    it('of a request that failed says so', async () => {
      const { service, standIns } = stage;
      const provider = standIns.provider('near-ed25519');
      provider.answer((_request, response) => {
        response.writeHead(500, { 'content-type': 'application/json' });
        response.end('{"error":"raw"}');
      });
      const secret = secretNow();
      const prepared = withReceipt(await prepare(service, account, provider), secret);
      const answer = await open(service, prepared).answer;
      expect(answer.status).toBe(503);
      const receipt = receiptSchema.parse(await (await receiptOf(secret)).json());
      expect(receipt).toMatchObject({ status: 503, complete: true, returned_sha256: sha256(answer.bytes) });
      expect(receipt.attempts).toMatchObject([{ answered_sha256: sha256('{"error":"raw"}') }]);
    });

    it('of a stream that was broken off says so', async () => {
      const { service, standIns } = stage;
      const provider = standIns.provider('near-ed25519');
      let breakOff = (): void => {};
      provider.answer(async (request, response) => {
        const { status, headers, pieces } = await answerOf(provider.enclave, request);
        response.writeHead(status, headers);
        response.write(Buffer.concat(pieces.slice(0, 4)));
        breakOff = () => response.destroy();
      });
      const secret = secretNow();
      const underWay = open(service, withReceipt(await prepare(service, account, provider, { stream: true }), secret));
      await underWay.started;
      breakOff();
      await underWay.answer;
      await until(async () => (await receiptOf(secret)).status === 200, 'the receipt is there');
      const receipt = receiptSchema.parse(await (await receiptOf(secret)).json());
      expect(receipt).toMatchObject({ status: 200, complete: false });
    });

    it('needs its secret: an unknown one is not found, a malformed one is refused', async () => {
      const { service, standIns } = stage;
      const secret = secretNow();
      const provider = standIns.provider('near-ed25519');
      await open(service, withReceipt(await prepare(service, account, provider), secret)).answer;
      expect((await receiptOf(secret)).status).toBe(200);
      for (const wrong of [secretNow(), sha256(Buffer.from(secret, 'hex'))]) {
        const answer = await receiptOf(wrong);
        expect(answer.status).toBe(404);
        expect(await answer.json()).toMatchObject({ error: { type: 'not_found' } });
      }
      for (const malformed of ['x', secret.slice(1), `${secret}0`])
        expect((await receiptOf(malformed)).status).toBe(400);
      expect((await fetch(`${service.baseUrl}/inference/receipt`)).status).toBe(400);
      const spoiled = withReceipt(await prepare(service, account, provider), 'not hex');
      expect((await open(service, spoiled).answer).status).toBe(400);
      delete spoiled.headers['x-router-receipt'];
      expect((await open(service, spoiled).answer).status).toBe(200);
    });
  });
}
