import { writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { OpenBytes } from '../../kit/open-bytes.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import type { Stage } from '../../kit/stage/stage.ts';
import { answerEndlessly, answerImage, audio } from './answers.ts';
import { askMedia, open } from './ask-media.ts';
import { servingSuite } from './serving.suite.ts';
import { mediaSpec, sceneOf } from './spec.ts';
import { ticketsSuite } from './tickets.suite.ts';

const megabyte = 1024 * 1024;

/** Tests that the broker's memory is bounded, even if clients read slowly. */
function memorySuite(stage: Stage): void {
  let account: TestAccount;
  beforeAll(async () => {
    account = await stage.service.createAccount({ usd: 1000 });
  });

  /** Returns the peak rise of the broker's resident memory during an action, in bytes. */
  async function riseDuring(act: () => Promise<void>): Promise<number> {
    const { broker } = stage.service;
    // Resets the peak mark to the present value (proc(5)).
    await writeFile(`/proc/${broker.pid}/clear_refs`, '5');
    const before = broker.residentBytes();
    await act();
    return broker.residentBytes('most') - before;
  }

  describe('memory', () => {
    it('images of 16 MB arrive byte for byte, and each is held about once', async () => {
      const count = 6;
      // Base64 turns 12 MB of pixels into 16 MB.
      const image = Buffer.alloc(12 * megabyte, Buffer.from(Uint8Array.from({ length: 251 }, (_, i) => i)));
      const text = image.toString('base64');
      const scenes = Array.from({ length: count }, () => {
        const scene = sceneOf(stage, 'image', 'patient');
        scene.on('patient', answerImage(image));
        return scene;
      });
      const asks = async (): Promise<void> => {
        await Promise.all(
          scenes.map(async ({ model }) => {
            const answer = await askMedia(stage.service, account, 'image', {
              model,
              prompt: 'a cat',
              size: '2048x2048',
            });
            expect(answer).toMatchObject({ status: 200, ended: 'answered' });
            const start = answer.bytes.indexOf('"b64_json":"') + '"b64_json":"'.length;
            expect(answer.bytes.subarray(start, start + text.length).equals(Buffer.from(text))).toBe(true);
          }),
        );
      };
      // Warms up with a small image: code that loads and compiles at the first call must not count. A large image would
      // leave memory to the process and so hide the rise.
      await askMedia(stage.service, account, 'image', { model: sceneOf(stage, 'image').model, prompt: 'a cat' });
      const rise = await riseDuring(asks);
      expect(rise).toBeLessThan(count * text.length * 2);
    });

    it('audio that the client does not read is held back at its provider', async () => {
      const count = 6;
      let sent = 0;
      const clients: OpenBytes[] = [];
      const rise = await riseDuring(async () => {
        for (let i = 0; i < count; i += 1) {
          const scene = sceneOf(stage, 'speech', 'patient');
          scene.on('patient', (request, response) => {
            response.on('drain', () => (sent += 1));
            return answerEndlessly('audio/mpeg', audio(), audio(65_536))(request, response);
          });
          const body = { model: scene.model, input: 'Go on.' };
          clients.push(await open(stage.service, account, 'speech', body, { reading: false }));
        }
        await until(() => sent > 0, 'it flows');
        let before = -1;
        await until(async () => {
          const same = sent === before;
          before = sent;
          await new Promise((resolve) => setTimeout(resolve, 300));
          return same;
        }, 'it is held back');
      });
      for (const client of clients) client.leave();
      for (const { answer } of clients) expect((await answer).ended).toBe('left');
      expect(rise).toBeLessThan(64 * megabyte);
    });
  });
}

await describeStage('images and speech', mediaSpec, (stage) => {
  ticketsSuite(stage);
  memorySuite(stage);
  servingSuite(stage);
});
