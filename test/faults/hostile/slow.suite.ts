import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { beforeAll, expect, it } from 'vitest';
import { errorIn, open, readAnswers } from '../../kit/raw-http.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import { noteSkip } from '../../kit/skips.ts';
import type { Suite } from '../../routing/failover/suite.ts';
import { expectAlive, type Origin, originsOf } from './origins.ts';

const megabyte = 2 ** 20;

/** Of a body that counts as large. */
const beginning = ' '.repeat(70 * 1024);

/** A client that goes on and on, a byte at a time, or stops. */
interface SlowClient {
  readonly text: string;
  readonly closedAfterMs: number | undefined;
  stop(): void;
}

async function drip(origin: Origin, start: string, bytes: string, everyMs: number): Promise<SlowClient> {
  const socket = await open(origin.url);
  const startedAt = performance.now();
  let text = '';
  let closedAfterMs: number | undefined;
  socket.on('data', (piece: Buffer) => {
    text += piece.toString('latin1');
  });
  socket.write(start);
  let at = 0;
  const timer = setInterval(() => {
    if (!socket.destroyed && bytes !== '') socket.write(bytes[at++ % bytes.length] ?? ' ');
  }, everyMs);
  socket.once('close', () => {
    closedAfterMs = performance.now() - startedAt;
    clearInterval(timer);
  });
  return {
    get text() {
      return text;
    },
    get closedAfterMs() {
      return closedAfterMs;
    },
    stop: () => socket.destroy(),
  };
}

/** How many descriptors this process may have; the services are started by it and inherit that. */
const mostDescriptors = (): number =>
  Number(/Max open files\s+(\d+)/.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? 1024);

/** Clients that take their time, and those that never say a word. */
export const slowSuite: Suite = {
  name: 'slow and silent clients',
  spec: { providers: [{ id: 'plain' }], shapes: { slowly: [{ provider: 'plain', price: [1, 2] }] }, copies: 1 },
  tests(stage) {
    let account: TestAccount;
    let model: string;
    beforeAll(async () => {
      account = await stage.service.createAccount();
      model = stage.world.model('slowly');
    });

    it('headers and bodies that come byte by byte are 408 in time, and hold nobody up', async () => {
      const clients: { readonly of: string; readonly withinMs: number; readonly client: SlowClient }[] = [];
      for (const origin of originsOf(stage)) {
        const head = `POST ${origin.post} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.inferenceKey}\r\ncontent-type: application/json\r\n`;
        const slow = [
          ['headers', head, 'x: y\r\n', 27_000],
          ['a first line', 'GET /', 'a', 27_000],
          ['a body', `${head}content-length: 5000\r\n\r\n{`, ' ', 67_000],
          ['a body in chunks', `${head}transfer-encoding: chunked\r\n\r\n`, '1\r\n \r\n', 67_000],
          ['a body that stops', `${head}content-length: 5000\r\n\r\n{`, '', 17_000],
          ['a large body that stops', `${head}content-length: ${origin.bodyLimit}\r\n\r\n${beginning}`, '', 17_000],
          ['a large body', `${head}content-length: ${origin.bodyLimit}\r\n\r\n${beginning}`, ' ', 27_000],
        ] as const;
        for (const [what, start, bytes, withinMs] of slow) {
          for (let copy = 0; copy < 25; copy += 1) {
            clients.push({ of: `${what} to ${origin.name}`, withinMs, client: await drip(origin, start, bytes, 900) });
          }
        }
      }
      await expectAlive(stage, account, model);
      await until(() => clients.every(({ client }) => client.closedAfterMs !== undefined), 'all are closed', 90_000);
      for (const { of, withinMs, client } of clients) {
        expect(client.closedAfterMs, of).toBeLessThan(withinMs);
        const answers = readAnswers(client.text);
        expect(
          answers.map(({ status }) => status),
          of,
        ).toEqual([408]);
        expect(answers.map(errorIn), of).toMatchObject([{ type: 'request_timeout' }]);
        expect(answers[0]?.headers.connection).toBe('close');
      }
      await expectAlive(stage, account, model);
    }, 120_000);

    it('ten thousand silent connections cost little, and are closed', async () => {
      // The other ends of all of them are open in this process, too.
      const possible = mostDescriptors() - 2_000;
      const counts = {
        confidential: Math.min(10_000, possible),
        control: Math.min(10_000, Math.max(500, possible - 10_000)),
      };
      const missing = 20_000 - counts.confidential - counts.control;
      if (missing > 0) {
        noteSkip(
          `${missing} of ten thousand silent connections an origin`,
          'raise the limit of open files (`ulimit -n 32768`).',
        );
      }
      const silent = await Promise.all(
        originsOf(stage).map(async (origin) => {
          const before = origin.rss();
          const sockets: Socket[] = [];
          while (sockets.length < counts[origin.name]) {
            const more = Math.min(250, counts[origin.name] - sockets.length);
            sockets.push(...(await Promise.all(Array.from({ length: more }, () => open(origin.url)))));
          }
          // Whoever does not read does not see the end either.
          for (const socket of sockets) socket.resume();
          return { origin, before, sockets };
        }),
      );
      const startedAt = performance.now();
      await expectAlive(stage, account, model);
      expect(performance.now() - startedAt).toBeLessThan(5_000);
      for (const { origin, before } of silent) expect(origin.rss() - before).toBeLessThan(250 * megabyte);
      const areClosed = (): boolean => silent.every(({ sockets }) => sockets.every(({ destroyed }) => destroyed));
      await until(areClosed, 'all are closed', 60_000);
      await until(() => silent.every(({ origin }) => origin.descriptors() < 500), 'the descriptors are given back');
      await expectAlive(stage, account, model);
    }, 180_000);
  },
};
