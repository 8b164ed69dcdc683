import type { StandInKind } from '@sotto/client/testing';
import { describe, expect, it } from 'vitest';
import { chargeOf } from '../../kit/books.ts';
import { until } from '../../kit/service.ts';
import { askSealed, open, opened, prepare } from './ask.ts';
import { answerOf, beginSuite, contextLength, dearerPrice, outputLimit, price, type SealedStage } from './world.ts';

const usage = (prompt: number, completion: number, at: { input: number; output: number } = price): bigint =>
  BigInt(prompt * at.input + completion * at.output) * 1000n;

const flat = usage(contextLength, outputLimit);
/** The broker's estimate of a prompt: three bytes a token, plus eight tokens a message. */
const promptTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3) + 8;

const fieldKinds: StandInKind[] = ['near-ed25519', 'near-secp256k1', 'phala-aci-x25519', 'venice'];

export function moneySuite(stage: SealedStage): void {
  describe('what a sealed chat costs', () => {
    const account = beginSuite(stage);

    const question = 'Was kostet die Welt, und was kostet sie mich?';
    const messages = [{ role: 'user', content: question }];
    /** The stand-ins send a reasoning text before the answer. */
    const said = (text: string): number => Math.ceil((Buffer.byteLength(text) + 'Thinking.'.length) / 4);

    it.each(fieldKinds)('follows from the lengths of the fields (%s), streamed or whole', async (kind) => {
      const provider = stage.standIns.provider(kind);
      for (const stream of [false, true]) {
        let text = '';
        const charge = await chargeOf(stage.service, account, async () => {
          const { prepared, answer } = await askSealed(stage.service, account, provider, { stream, messages });
          text = await opened(prepared, answer);
        });
        expect(text).toBe(`You said: ${question}`);
        expect(charge).toBe(usage(promptTokens(question), said(text)));
      }
    });

    it('follows from the length of the frames, at the dearest price of the address (tinfoil)', async () => {
      const provider = stage.standIns.provider('tinfoil');
      for (const stream of [false, true]) {
        let sent = 0;
        let received = 0;
        const charge = await chargeOf(stage.service, account, async () => {
          const { prepared, answer } = await askSealed(stage.service, account, provider, { stream, messages });
          sent = plaintextOf(prepared.body);
          received = plaintextOf(answer.bytes);
        });
        const completion = stream ? Math.ceil(received / 256) : Math.ceil(Math.max(0, received - 512) / 4);
        expect(charge).toBe(usage(Math.ceil(sent / 3), completion, dearerPrice));
      }
    });

    it('follows from the real answer, whatever was announced about a body that cannot be read (tinfoil)', async () => {
      const { service, standIns } = stage;
      const long = [{ role: 'user', content: 'x'.repeat(3000) }];
      const prepared = await prepare(service, account, standIns.provider('tinfoil'), { messages: long });
      const announced = JSON.parse(prepared.headers['x-router-e2ee'] ?? '') as object;
      prepared.headers['x-router-e2ee'] = JSON.stringify({ ...announced, stream: true });
      let received = 0;
      const charge = await chargeOf(service, account, async () => {
        const answer = await open(service, prepared).answer;
        expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json']);
        received = plaintextOf(answer.bytes);
      });
      const completion = Math.ceil(Math.max(0, received - 512) / 4);
      expect(charge).toBe(usage(Math.ceil(plaintextOf(prepared.body) / 3), completion, dearerPrice));
    });

    it('is the full window and the full ceiling if the body is packed (chutes)', async () => {
      const provider = stage.standIns.provider('chutes');
      for (const stream of [false, true]) {
        expect(
          await chargeOf(stage.service, account, () =>
            askSealed(stage.service, account, provider, { stream, messages }),
          ),
        ).toBe(flat);
      }
    });

    /**
     * An EHBP frame with this many bytes of plaintext, or the same length of a packed answer. The broker cannot read
     * either.
     */
    const frame = (bytes: number): Buffer => {
      const sealed = Buffer.alloc(4 + bytes + 16, 1);
      sealed.writeUInt32BE(bytes + 16);
      return sealed;
    };
    const dearerLimit = 2 * outputLimit;
    const overlong = [
      // Three times the ceiling of the dearest model there, by the rule of the family.
      { kind: 'tinfoil', stream: true, most: 3 * dearerLimit * 256 },
      { kind: 'tinfoil', stream: false, most: 3 * dearerLimit * 4 + 512 },
      { kind: 'chutes', stream: true, most: outputLimit * 1536 },
      { kind: 'chutes', stream: false, most: outputLimit * 8 },
    ] as const;

    it.each(overlong)(
      'ends an answer with more output than was set aside, such as of 64 choices: $kind, stream $stream',
      async ({ kind, stream, most }) => {
        const { service, standIns } = stage;
        const provider = standIns.provider(kind);
        provider.answer(async (request, response) => {
          const { headers } = await answerOf(provider.enclave, request);
          response.writeHead(200, headers);
          const gone = new Promise((resolve) => response.once('close', resolve));
          for (let sent = 0; sent < 64 * most && !response.destroyed; sent += 60_000) {
            if (response.write(frame(60_000 - 20))) continue;
            await Promise.race([new Promise((resolve) => response.once('drain', resolve)), gone]);
          }
          response.end();
        });
        let sent = 0;
        const charge = await chargeOf(service, account, async () => {
          const prepared = await prepare(service, account, provider, { stream, messages });
          sent = plaintextOf(prepared.body);
          const answer = await open(service, prepared).answer;
          expect([answer.status, answer.ended]).toEqual(stream ? [200, 'broken'] : [400, 'answered']);
          expect(answer.bytes.length).toBeLessThan(stream ? most + 200_000 : 1000);
        });
        await provider.seen.at(-1)?.closed;
        expect(charge).toBe(kind === 'chutes' ? flat : usage(Math.ceil(sent / 3), 3 * dearerLimit, dearerPrice));
        expect(service.logs()).not.toContain('cost above its hold');
      },
    );

    it('is set aside in full before: a balance below the flat amount is not enough', async () => {
      const poor = await stage.service.createAccount({ usd: Number(flat - 1n) / 1e9 });
      const chutes = stage.standIns.provider('chutes');
      const { answer } = await askSealed(stage.service, poor, chutes, { messages });
      expect(answer.status).toBe(402);
      expect(chutes.seen).toEqual([]);
      const { answer: cheap } = await askSealed(stage.service, poor, stage.standIns.provider('near-ed25519'), {
        messages,
      });
      expect(cheap.status).toBe(200);
    });

    it('is bounded by the ceiling: text with long tokens is not more tokens', async () => {
      const provider = stage.standIns.provider('near-ed25519');
      const long = [{ role: 'user', content: 'x'.repeat(900) }];
      for (const stream of [false, true]) {
        const charge = await chargeOf(stage.service, account, () =>
          askSealed(stage.service, account, provider, { stream, messages: long, maxTokens: 100 }),
        );
        expect(charge).toBe(usage(308, 100));
      }
      expect(stage.service.logs()).not.toContain('cost above its hold');
    });

    it.each([
      ['near-ed25519', (bytes: number) => usage(promptTokens(question), Math.ceil(bytes / 4))],
      ['chutes', () => flat],
    ] as const)('is what was produced until a client leaves (%s)', async (kind, expected) => {
      let sentBytes = -1;
      const provider = stage.standIns.provider(kind);
      provider.answer(async (request, response) => {
        const { status, headers, pieces } = await answerOf(provider.enclave, request);
        response.writeHead(status, headers);
        // A ping, the role, "Think" and "ing". For the packed family: its init, a ping and two lines.
        const sent = Buffer.concat(pieces.slice(0, 4));
        sentBytes = sent.length;
        response.write(sent);
      });
      const charge = await chargeOf(stage.service, account, async () => {
        const underWay = open(
          stage.service,
          await prepare(stage.service, account, provider, { stream: true, messages }),
        );
        await until(() => underWay.received === sentBytes, 'all that was sent has come');
        underWay.leave();
        await underWay.answer;
      });
      expect(charge).toBe(expected('Thinking.'.length));
    });

    it('is settled before the terminator of a stream leaves', async () => {
      const { service, standIns } = stage;
      const own = await service.createAccount({ usd: 1 });
      const provider = standIns.provider('venice');
      // The terminator is sent and the connection stays open. A broker that forwards bytes unseen would forward it now.
      provider.answer(async (request, response) => {
        const { status, headers, pieces } = await answerOf(provider.enclave, request);
        response.writeHead(status, headers);
        response.write(Buffer.concat(pieces));
      });
      const { headers, body } = await prepare(service, own, provider, { stream: true, messages });
      const answer = await fetch(`${service.baseUrl}/chat/completions`, {
        method: 'POST',
        headers,
        body: new Uint8Array(body),
      });
      let text = '';
      for await (const piece of answer.body ?? []) {
        text += Buffer.from(piece).toString('latin1');
        if (!text.includes('[DONE]')) continue;
        const balance = await fetch(`${service.controlUrl}/balance`, {
          headers: { authorization: `Bearer ${own.managementKey}` },
        });
        expect(await balance.json()).toMatchObject({ reserved: 0 });
        break;
      }
      expect(text).toMatch(/data: \[DONE\]\n\n$/);
    });

    it('is marked as an estimate in the usage', async () => {
      const own = await stage.service.createAccount({ usd: 1 });
      await askSealed(stage.service, own, stage.standIns.provider('near-ed25519'), { messages });
      await stage.service.settled(own);
      const answer = await fetch(`${stage.service.controlUrl}/usage`, {
        headers: { authorization: `Bearer ${own.managementKey}` },
      });
      expect(await answer.json()).toMatchObject({
        data: [
          {
            operation: 'chat',
            model: 'sealed/near-ed25519',
            provider: 'near-ed25519',
            privacy_class: 'e2ee',
            prompt_tokens: promptTokens(question),
            status: 'completed',
            estimated: true,
            attempts: 1,
          },
        ],
      });
    });
  });
}

/** The plaintext bytes in the frames of a body. */
function plaintextOf(body: Buffer): number {
  let bytes = 0;
  for (let at = 0; at < body.length; at += 4 + body.readUInt32BE(at)) bytes += Math.max(0, body.readUInt32BE(at) - 16);
  return bytes;
}
