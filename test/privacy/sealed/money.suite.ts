import type { StandInKind } from '@sotto/client/testing';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestAccount } from '../../kit/service.ts';
import { ask, chargeOf, open, opened, prepare } from './ask.ts';
import type { SealedStage } from './suite.ts';
import { answerOf, contextLength, dearerPrice, outputLimit, price } from './world.ts';

const usage = (prompt: number, completion: number, at: { input: number; output: number } = price): bigint =>
  BigInt(prompt * at.input + completion * at.output) * 1000n;

const flat = usage(contextLength, outputLimit);
/** As the broker estimates a prompt: three bytes a token and eight tokens a message. */
const promptTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3) + 8;

const fieldKinds: StandInKind[] = ['near-ed25519', 'near-secp256k1', 'phala-aci-x25519', 'venice'];

export function moneySuite(stage: SealedStage): void {
  describe('what a sealed chat costs', () => {
    let account: TestAccount;
    beforeAll(async () => {
      account = await stage.service.createAccount({ usd: 100 });
    });
    beforeEach(() => {
      for (const provider of stage.world.providers) provider.reset();
    });

    const question = 'Was kostet die Welt, und was kostet sie mich?';
    const messages = [{ role: 'user', content: question }];
    /** The stand-ins think before they speak. */
    const said = (text: string): number => Math.ceil((Buffer.byteLength(text) + 'Thinking.'.length) / 4);

    it.each(fieldKinds)(
      'interface 4.2: follows from the lengths of the fields (%s), streamed or whole',
      async (kind) => {
        const provider = stage.world.provider(kind);
        for (const stream of [false, true]) {
          let text = '';
          const charge = await chargeOf(stage.service, account, async () => {
            const { prepared, answer } = await ask(stage.service, account, provider, { stream, messages });
            text = await opened(prepared, answer);
          });
          expect(text).toBe(`You said: ${question}`);
          expect(charge).toBe(usage(promptTokens(question), said(text)));
        }
      },
    );

    it('follows from the length of the frames, at the dearest price of the address (tinfoil)', async () => {
      const provider = stage.world.provider('tinfoil');
      for (const stream of [false, true]) {
        let sent = 0;
        let received = 0;
        const charge = await chargeOf(stage.service, account, async () => {
          const { prepared, answer } = await ask(stage.service, account, provider, { stream, messages });
          sent = plaintextOf(prepared.body);
          received = plaintextOf(answer.body);
        });
        const completion = stream ? Math.ceil(received / 256) : Math.ceil(Math.max(0, received - 512) / 4);
        expect(charge).toBe(usage(Math.ceil(sent / 3), completion, dearerPrice));
      }
    });

    it('follows from what the answer is, whatever was announced of a body that nobody can read (tinfoil)', async () => {
      const { service, world } = stage;
      const long = [{ role: 'user', content: 'x'.repeat(3000) }];
      const prepared = await prepare(service, account, world.provider('tinfoil'), { messages: long });
      const announced = JSON.parse(prepared.headers['x-router-e2ee'] ?? '') as object;
      prepared.headers['x-router-e2ee'] = JSON.stringify({ ...announced, stream: true });
      let received = 0;
      const charge = await chargeOf(service, account, async () => {
        const answer = await open(service, prepared).answer;
        expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json']);
        received = plaintextOf(answer.body);
      });
      const completion = Math.ceil(Math.max(0, received - 512) / 4);
      expect(charge).toBe(usage(Math.ceil(plaintextOf(prepared.body) / 3), completion, dearerPrice));
    });

    it('interface 4.2: is the full window and the full ceiling where the body is packed (chutes)', async () => {
      const provider = stage.world.provider('chutes');
      for (const stream of [false, true]) {
        expect(
          await chargeOf(stage.service, account, () => ask(stage.service, account, provider, { stream, messages })),
        ).toBe(flat);
      }
    });

    /** A frame of EHBP with so many bytes of plaintext, or bytes of a packed answer: what is in them nobody can tell. */
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
        const { service, world } = stage;
        const provider = world.provider(kind);
        provider.answer(async (request, response) => {
          const { headers } = await answerOf(provider.enclave, request);
          response.writeHead(200, headers);
          for (let sent = 0; sent < 64 * most && !response.destroyed; sent += 60_000) {
            if (response.write(frame(60_000 - 20))) continue;
            const gone = new Promise((resolve) => response.once('close', resolve));
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
          expect(answer.body.length).toBeLessThan(stream ? most + 200_000 : 1000);
        });
        await provider.seen.at(-1)?.closed;
        expect(charge).toBe(kind === 'chutes' ? flat : usage(Math.ceil(sent / 3), 3 * dearerLimit, dearerPrice));
        expect(service.logs()).not.toContain('cost above its hold');
      },
    );

    it('is set aside in full before: a balance below the flat amount does not do', async () => {
      const poor = await stage.service.createAccount({ usd: Number(flat - 1n) / 1e9 });
      const chutes = stage.world.provider('chutes');
      const { answer } = await ask(stage.service, poor, chutes, { messages });
      expect(answer.status).toBe(402);
      expect(chutes.seen).toEqual([]);
      const { answer: cheap } = await ask(stage.service, poor, stage.world.provider('near-ed25519'), { messages });
      expect(cheap.status).toBe(200);
    });

    it('is bounded by the ceiling: text with long tokens is not more tokens', async () => {
      const provider = stage.world.provider('near-ed25519');
      const long = [{ role: 'user', content: 'x'.repeat(900) }];
      for (const stream of [false, true]) {
        const charge = await chargeOf(stage.service, account, () =>
          ask(stage.service, account, provider, { stream, messages: long, maxTokens: 100 }),
        );
        expect(charge).toBe(usage(308, 100));
      }
      expect(stage.service.logs()).not.toContain('cost above its hold');
    });

    it.each([
      ['near-ed25519', (bytes: number) => usage(promptTokens(question), Math.ceil(bytes / 4))],
      ['chutes', () => flat],
    ] as const)('is what was produced until a client leaves (%s)', async (kind, expected) => {
      const provider = stage.world.provider(kind);
      provider.answer(async (request, response) => {
        const { status, headers, pieces } = await answerOf(provider.enclave, request);
        response.writeHead(status, headers);
        // A ping, the role, "Think" and "ing."; of the packed family its init, a ping and two lines.
        response.write(Buffer.concat(pieces.slice(0, 4)));
      });
      const charge = await chargeOf(stage.service, account, async () => {
        const underWay = open(
          stage.service,
          await prepare(stage.service, account, provider, { stream: true, messages }),
        );
        await underWay.started;
        await new Promise((resolve) => setTimeout(resolve, 50));
        underWay.leave();
        await underWay.answer;
      });
      expect(charge).toBe(expected('Thinking.'.length));
    });

    it('design 4: is settled before the terminator of a stream leaves', async () => {
      const { service, world } = stage;
      const own = await service.createAccount({ usd: 1 });
      const provider = world.provider('venice');
      // The terminator is there, and the connection stays open: what passed it on as it came would pass it on now.
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
      await ask(stage.service, own, stage.world.provider('near-ed25519'), { messages });
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

/** Plaintext bytes in the frames of a body. */
function plaintextOf(body: Buffer): number {
  let bytes = 0;
  for (let at = 0; at < body.length; at += 4 + body.readUInt32BE(at)) bytes += Math.max(0, body.readUInt32BE(at) - 16);
  return bytes;
}
