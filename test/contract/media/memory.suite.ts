import { readFile, writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { type TestAccount, until } from '../../kit/service.ts';
import { ask, type OpenRequest, open } from './ask.ts';
import type { MediaStage } from './suite.ts';
import { answerEndlessly, answerImage, audio } from './world.ts';

const megabyte = 1024 * 1024;

/** The broker's memory: what it holds is bounded by what its clients have not taken yet. */
export function memorySuite(stage: MediaStage): void {
  let account: TestAccount;
  beforeAll(async () => {
    account = await stage.service.createAccount({ usd: 1000 });
  });

  async function statusOf(field: 'VmRSS' | 'VmHWM'): Promise<number> {
    const status = await readFile(`/proc/${stage.service.broker.pid}/status`, 'utf8');
    return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) * 1024;
  }

  /** By how much the broker's resident memory rose at its highest, in bytes. */
  async function riseDuring(act: () => Promise<void>): Promise<number> {
    // Sets the highest mark back to where it is now (proc(5)).
    await writeFile(`/proc/${stage.service.broker.pid}/clear_refs`, '5');
    const before = await statusOf('VmRSS');
    await act();
    return (await statusOf('VmHWM')) - before;
  }

  describe('memory', () => {
    it('images of 16 MB arrive to the byte, and are held about once each', async () => {
      const count = 6;
      // 12 MB of pixels are 16 MB of base64.
      const image = Buffer.alloc(12 * megabyte, Buffer.from(Uint8Array.from({ length: 251 }, (_, i) => i)));
      const text = image.toString('base64');
      const scenes = Array.from({ length: count }, () => {
        const scene = stage.world.scene('image', 'patient');
        scene.on('patient', answerImage(image));
        return scene;
      });
      const asks = async (): Promise<void> => {
        await Promise.all(
          scenes.map(async ({ model }) => {
            const answer = await ask(stage.service, account, 'image', { model, prompt: 'a cat', size: '2048x2048' });
            expect(answer).toMatchObject({ status: 200, ended: 'answered' });
            const start = answer.bytes.indexOf('"b64_json":"') + '"b64_json":"'.length;
            expect(answer.bytes.subarray(start, start + text.length).equals(Buffer.from(text))).toBe(true);
          }),
        );
      };
      // What is loaded and compiled for the first time is not what is measured; memory that large answers have once
      // taken would hide what the next ones take.
      await ask(stage.service, account, 'image', { model: stage.world.scene('image').model, prompt: 'a cat' });
      const rise = await riseDuring(asks);
      expect(rise).toBeLessThan(count * text.length * 2);
    });

    it('audio that nobody takes is held back at its provider', async () => {
      const count = 6;
      let sent = 0;
      const clients: OpenRequest[] = [];
      const rise = await riseDuring(async () => {
        for (let i = 0; i < count; i += 1) {
          const scene = stage.world.scene('speech', 'patient');
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
