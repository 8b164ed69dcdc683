import type { UsagePage } from '@sotto/contract/control/usage';
import { imagesAnswerSchema } from '@sotto/wire';
import { beforeAll, describe, expect, it } from 'vitest';
import { chargeOf } from '../../kit/books.ts';
import { bearer } from '../../kit/client.ts';
import type { OpenBytes } from '../../kit/open-bytes.ts';
import { answerError, answerNothing, type ProviderHandler } from '../../kit/provider.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import { upstreamModel } from '../../kit/stage/models.ts';
import type { Scene } from '../../kit/stage/scene.ts';
import type { Stage } from '../../kit/stage/stage.ts';
import { answerEndlessly, answerImage, answerSpeech, audio, png } from './answers.ts';
import { askMedia, errorOf, jsonOf, open } from './ask-media.ts';
import { hastyTotalMs, imageCost, type Operation, sceneOf, speechCost } from './spec.ts';

const text = 'Say this, 🎵!';

/** Sends some audio, then does as told. */
const speaksThen =
  (then: Parameters<typeof after>[1], bytes = 3000): ProviderHandler =>
  async (_request, response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' });
    await new Promise((resolve) => response.write(audio(bytes), resolve));
    after(response, then);
  };

function after(response: Parameters<ProviderHandler>[1], then: 'break' | 'reset' | 'stall' | 'go_on'): void {
  if (then === 'break') response.destroy();
  if (then === 'reset') response.socket?.resetAndDestroy();
  if (then === 'go_on') {
    const timer = setInterval(() => response.write(audio(500)), 20);
    response.once('close', () => clearInterval(timer));
  }
}

/** Tests the answers and their charges, for every way in which an answer ends. */
export function servingSuite(stage: Stage): void {
  let account: TestAccount;
  beforeAll(async () => {
    account = await stage.service.createAccount({ usd: 1000 });
  });
  const bodyFor = (operation: Operation, { model }: Scene): { model: string } & Record<string, unknown> =>
    operation === 'image' ? { model, prompt: 'a cat' } : { model, input: text };
  const opens = (operation: Operation, scene: Scene, options = {}): Promise<OpenBytes> =>
    open(stage.service, account, operation, bodyFor(operation, scene), options);
  const asks = (operation: Operation, scene: Scene) =>
    askMedia(stage.service, account, operation, bodyFor(operation, scene));
  const charge = (act: () => Promise<unknown>): Promise<bigint> => chargeOf(stage.service, account, act);
  const costOf = (operation: Operation, provider: 'alpha' | 'beta' = 'alpha'): bigint =>
    operation === 'image' ? imageCost(provider) : speechCost(text.length, provider);

  async function usageOf({ model }: Scene): Promise<UsagePage['data']> {
    const url = `${stage.service.controlUrl}/usage?model=${encodeURIComponent(model)}`;
    const rows = async (): Promise<UsagePage['data']> => {
      const answer = await fetch(url, { headers: bearer(account.managementKey) });
      return ((await answer.json()) as UsagePage).data;
    };
    // A free request does not change the balance, so its usage row shows when it is booked.
    await until(async () => (await rows()).length > 0, 'it is booked');
    await stage.service.settled(account);
    return rows();
  }

  /** Leaves, and expects that the provider's connection closes in time and no other provider is asked. */
  async function leaves(client: OpenBytes, scene: Scene): Promise<void> {
    client.leave();
    await scene.seen('alpha')[0]?.closed;
    expect((await client.answer).ended).toBe('left');
    expect(scene.called).toEqual(['alpha']);
  }

  describe('an image', () => {
    it('is the provider’s, in our own answer, at a flat price', async () => {
      const scene = sceneOf(stage, 'image');
      const spent = await charge(async () => {
        const body = { ...bodyFor('image', scene), size: '512x256', user: 'CANARY', quality: 'hd' };
        const answer = await askMedia(stage.service, account, 'image', body);
        expect(answer.status, answer.bytes.toString()).toBe(200);
        expect(answer.headers['content-type']).toMatch(/^application\/json/);
        const { model, data, created } = imagesAnswerSchema.parse(jsonOf(answer));
        expect(model).toBe(scene.model);
        expect(data).toEqual([{ b64_json: png.toString('base64'), mime_type: 'image/png' }]);
        expect(Math.abs(created - Date.now() / 1000)).toBeLessThan(30);
      });
      expect(spent).toBe(imageCost());
      expect(scene.seen('alpha')[0]?.body).toEqual({
        model: upstreamModel('alpha', scene.model),
        prompt: 'a cat',
        n: 1,
        size: '512x256',
        response_format: 'b64_json',
      });
      expect(await usageOf(scene)).toMatchObject([
        {
          operation: 'image',
          provider: 'alpha',
          status: 'completed',
          estimated: false,
          attempts: 1,
          cost: 0.04,
          prompt_tokens: 0,
          completion_tokens: 0,
        },
      ]);
    });

    it('that breaks off in the middle of its body counts as not begun: the next provider serves, and only it is paid', async () => {
      const scene = sceneOf(stage, 'image');
      const large = Buffer.alloc(300_000, 9);
      scene.on('alpha', async (_request, response) => {
        const whole = JSON.stringify({ data: [{ b64_json: large.toString('base64') }] });
        response.writeHead(200, { 'content-type': 'application/json' });
        await new Promise((resolve) => response.write(whole.slice(0, 200_000), resolve));
        response.destroy();
      });
      expect(
        await charge(async () => {
          const answer = await asks('image', scene);
          expect(answer.headers['x-router-provider']).toBe('beta');
          expect(jsonOf(answer)).toMatchObject({ data: [{ b64_json: png.toString('base64') }] });
        }),
      ).toBe(imageCost('beta'));
    });

    it('is paid once it is complete, even if its client leaves while reading it', async () => {
      const scene = sceneOf(stage, 'image', 'patient');
      scene.on('patient', answerImage(Buffer.alloc(6_000_000, 5)));
      expect(
        await charge(async () => {
          const client = await opens('image', scene);
          await client.started;
          client.leave();
          const { status, bytes } = await client.answer;
          expect([status, bytes.length < 8_000_000]).toEqual([200, true]);
        }),
      ).toBe(imageCost('patient'));
    });
  });

  describe('speech', () => {
    it('is the provider’s audio, byte for byte, at the price of its UTF-16 code units', async () => {
      const scene = sceneOf(stage, 'speech');
      const spent = await charge(async () => {
        const body = { ...bodyFor('speech', scene), voice: 'nova', speed: 2, user: 'CANARY' };
        const answer = await askMedia(stage.service, account, 'speech', body);
        expect(answer).toMatchObject({ status: 200, ended: 'answered' });
        expect(answer.bytes.equals(audio())).toBe(true);
        expect(answer.headers['content-type']).toBe('audio/mpeg');
        // Chunked encoding lets a client tell a truncated answer from a complete one.
        expect(answer.headers['transfer-encoding']).toBe('chunked');
      });
      expect(spent).toBe(speechCost(text.length));
      expect(scene.seen('alpha')[0]?.body).toEqual({
        model: upstreamModel('alpha', scene.model),
        input: text,
        voice: 'nova',
        response_format: 'mp3',
      });
      expect(await usageOf(scene)).toMatchObject([
        { operation: 'speech', status: 'completed', estimated: false, cost: (text.length * 15) / 1e6 },
      ]);
    });

    it('arrives as the provider produces it, not only when it is complete', async () => {
      const scene = sceneOf(stage, 'speech', 'single');
      const { promise: gate, resolve: goOn } = Promise.withResolvers<void>();
      scene.on('alpha', async (_request, response) => {
        response.writeHead(200, { 'content-type': 'audio/mpeg' });
        response.write(audio(1000));
        await gate;
        response.end(audio(1000));
      });
      const client = await opens('speech', scene);
      await client.started;
      goOn();
      expect((await client.answer).bytes.length).toBe(2000);
    });

    it('of 20,000 characters is served and charged in full', async () => {
      const scene = sceneOf(stage, 'speech', 'single');
      const input = '🎵'.repeat(10_000);
      const long = audio(2_000_000);
      scene.on('alpha', answerSpeech(long, 100));
      expect(
        await charge(async () => {
          const answer = await askMedia(stage.service, account, 'speech', { model: scene.model, input });
          expect(answer.bytes.equals(long)).toBe(true);
        }),
      ).toBe(speechCost(20_000));
    });

    it.each(['break', 'reset', 'stall'] as const)(
      'that the provider ends by a %s ends as an error, and is free',
      async (then) => {
        const scene = sceneOf(stage, 'speech');
        scene.on('alpha', speaksThen(then));
        const spent = await charge(async () => {
          const answer = await asks('speech', scene);
          expect(answer).toMatchObject({ status: 200, ended: 'broken' });
          expect(answer.bytes.length).toBeLessThanOrEqual(3000);
        });
        expect(spent).toBe(0n);
        // After output the broker must not ask another provider.
        expect(scene.called).toEqual(['alpha']);
        expect(await usageOf(scene)).toMatchObject([{ status: 'failed', cost: 0, attempts: 1 }]);
      },
    );

    it('that the client leaves in the middle is charged in full, and the provider’s connection closes', async () => {
      const scene = sceneOf(stage, 'speech');
      scene.on('alpha', speaksThen('go_on'));
      expect(
        await charge(async () => {
          const client = await opens('speech', scene);
          await client.started;
          await leaves(client, scene);
        }),
      ).toBe(speechCost(text.length));
      expect(await usageOf(scene)).toMatchObject([{ status: 'cancelled', estimated: false }]);
    });

    it('that breaks right after a burst is free: a full buffer does not mean that the client holds it back', async () => {
      const scene = sceneOf(stage, 'speech', 'single');
      scene.on('alpha', async (_request, response) => {
        response.writeHead(200, { 'content-type': 'audio/mpeg' });
        // More than the broker's buffer holds, and less than the kernel takes from it without a client that reads.
        for (let piece = 0; piece < 5; piece += 1)
          await new Promise((resolve) => response.write(audio(200_000), resolve));
        response.destroy();
      });
      expect(await charge(async () => expect((await asks('speech', scene)).ended).toBe('broken'))).toBe(0n);
    });

    it('that breaks while the client holds it back is charged to the client', async () => {
      const scene = sceneOf(stage, 'speech', 'single');
      let breakOff = (): void => {};
      let movedAt = 0;
      scene.on('alpha', (request, response) => {
        breakOff = () => response.destroy();
        movedAt = performance.now();
        response.on('drain', () => {
          movedAt = performance.now();
        });
        return answerEndlessly('audio/mpeg', audio(), audio(65_536))(request, response);
      });
      expect(
        await charge(async () => {
          const client = await opens('speech', scene, { reading: false });
          await until(() => scene.called.length === 1, 'the provider is asked');
          // Every buffer in between is full, and has been for longer than a client may pause.
          await until(() => performance.now() - movedAt > 2500, 'the provider is held back');
          breakOff();
          client.read();
          expect((await client.answer).ended).toBe('broken');
        }),
      ).toBe(speechCost(text.length));
    });

    it('that exceeds its total time after output is charged, and ends as an error', async () => {
      const scene = sceneOf(stage, 'speech', 'hasty');
      scene.on('hasty', speaksThen('go_on'));
      expect(
        await charge(async () => {
          const startedAt = performance.now();
          expect((await asks('speech', scene)).ended).toBe('broken');
          expect(performance.now() - startedAt).toBeGreaterThan(hastyTotalMs - 100);
          await scene.seen('hasty')[0]?.closed;
        }),
      ).toBe(speechCost(text.length, 'hasty'));
    });

    it('is charged once if client and provider end it in the same moment', async () => {
      const before = await stage.service.settled(account);
      let paid = 0n;
      for (let round = 0; round < 8; round += 1) {
        const scene = sceneOf(stage, 'speech', 'single');
        let client: OpenBytes | undefined;
        scene.on('alpha', async (_request, response) => {
          response.writeHead(200, { 'content-type': 'audio/mpeg' });
          await new Promise((resolve) => response.write(audio(1000), resolve));
          await until(() => (client?.received ?? 0) > 0, 'the client hears it');
          // The provider ends first on even rounds, the client on odd ones. Every other pair of rounds breaks.
          if (round % 2 === 1) client?.leave();
          if (round % 4 < 2) response.end();
          else response.destroy();
          if (round % 2 === 0) client?.leave();
        });
        client = await opens('speech', scene);
        await client.answer;
        const rows = await usageOf(scene);
        expect(rows).toHaveLength(1);
        const cost = BigInt(Math.round((rows[0]?.cost ?? -1) * 1e9));
        expect([0n, speechCost(text.length)]).toContain(cost);
        // It can be free only if the provider broke it.
        if (round % 4 < 2) expect(cost).toBe(speechCost(text.length));
        paid += cost;
      }
      expect(before - (await stage.service.settled(account))).toBe(paid);
    });
  });

  describe.each(['image', 'speech'] as const)('%s', (operation) => {
    it('whose client leaves before output is free, and the provider’s connection closes', async () => {
      const scene = sceneOf(stage, operation);
      scene.on('alpha', answerNothing);
      expect(
        await charge(async () => {
          const client = await opens(operation, scene);
          await until(() => scene.called.length === 1, 'the provider is asked');
          await leaves(client, scene);
        }),
      ).toBe(0n);
      expect(await usageOf(scene)).toMatchObject([{ status: 'cancelled', cost: 0 }]);
    });

    it('that another provider serves is charged at that provider’s price; the failed attempt is free', async () => {
      const scene = sceneOf(stage, operation);
      scene.on('alpha', answerError(500));
      expect(
        await charge(async () => {
          const { headers } = await asks(operation, scene);
          expect(headers).toMatchObject({
            'x-router-provider': 'beta',
            'x-router-provider-attempts': '2',
            'x-router-provider-fallback': 'true',
          });
        }),
      ).toBe(costOf(operation, 'beta'));
      expect(await usageOf(scene)).toMatchObject([{ provider: 'beta', attempts: 2 }]);
    });

    it('is admitted exactly as often as the balance covers its price', async () => {
      const { service } = stage;
      const usd = (Number(costOf(operation)) / 1e9) * 2.5;
      const poor = await service.createAccount({ usd });
      // A provider without alternatives may be silent.
      const scene = sceneOf(stage, operation, 'single');
      const { promise: gate, resolve: release } = Promise.withResolvers<void>();
      const serve = operation === 'image' ? answerImage() : answerSpeech();
      scene.on('alpha', async (request, response) => {
        await gate;
        return serve(request, response);
      });
      const clients = await Promise.all(
        Array.from({ length: 8 }, () => open(service, poor, operation, bodyFor(operation, scene))),
      );
      let refused = 0;
      for (const { answer } of clients) void answer.then(() => (refused += 1));
      await until(() => scene.called.length === 2 && refused === 6, 'two are admitted, and the others are not');
      release();
      const answers = await Promise.all(clients.map(({ answer }) => answer));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
      for (const answer of answers)
        if (answer.status !== 200) expect(errorOf(answer)).toEqual([402, 'insufficient_balance']);
      expect(await service.settled(poor)).toBe(BigInt(Math.round(usd * 1e9)) - costOf(operation) * 2n);
    });
  });

  it('an answer that a crash of the broker cuts short is free, and no hold remains', async () => {
    const scene = sceneOf(stage, 'speech', 'single');
    scene.on('alpha', speaksThen('go_on'));
    const picture = sceneOf(stage, 'image', 'single');
    picture.on('alpha', answerNothing);
    const before = await stage.service.settled(account);
    const client = await opens('speech', scene);
    const other = await opens('image', picture);
    await client.started;
    await until(() => picture.called.length === 1, 'the image is asked for');
    await stage.service.broker.kill9();
    expect([(await client.answer).ended, (await other.answer).ended]).toEqual(['broken', 'broken']);
    await stage.service.broker.restart();
    await until(async () => (await stage.service.settled(account)) === before, 'the hold is given back', 60_000);
    // The service works again.
    expect((await asks('speech', sceneOf(stage, 'speech'))).status).toBe(200);
  }, 180_000);
}
