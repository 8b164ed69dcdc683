import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { noteSkip } from '@sotto/test-servers';
import { beforeAll, expect, it } from 'vitest';
import { errorIn, open, readAnswers } from '../../kit/raw-http.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import type { Suite } from '../../kit/stage/suites.ts';
import { expectAlive, type Origin, originsOf } from './origins.ts';

const megabyte = 2 ** 20;

/** The beginning of a body that counts as large. */
const beginning = ' '.repeat(70 * 1024);

/** A client that sends one byte at a time, or stops. */
interface SlowClient {
  readonly text: string;
  readonly closedAfterMs: number | undefined;
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
  };
}

/** Returns this process's limit of open descriptors. The services are its children and inherit the limit. */
const mostDescriptors = (): number =>
  Number(/Max open files\s+(\d+)/.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? 1024);

/** Tests clients that send slowly, and clients that never send anything. */
export const slowSuite: Suite = {
  name: 'slow and silent clients',
  spec: { providers: { plain: {} }, models: { slowly: { routes: { plain: [1, 2] } } }, copies: 1 },
  tests(stage) {
    let account: TestAccount;
    let model: string;
    beforeAll(async () => {
      account = await stage.service.createAccount();
      model = stage.model('slowly');
    });

    it('headers and bodies that arrive byte by byte are 408 in time, and delay no other request', async () => {
      const clients: { readonly what: string; readonly of: string; readonly client: SlowClient }[] = [];
      for (const origin of originsOf(stage)) {
        const head = `POST ${origin.post} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.inferenceKey}\r\ncontent-type: application/json\r\n`;
        const slow = [
          ['headers', head, 'x: y\r\n'],
          ['a first line', 'GET /', 'a'],
          ['a body', `${head}content-length: 5000\r\n\r\n{`, ' '],
          ['a body in chunks', `${head}transfer-encoding: chunked\r\n\r\n`, '1\r\n \r\n'],
          ['a body that stops', `${head}content-length: 5000\r\n\r\n{`, ''],
          ['a large body that stops', `${head}content-length: ${origin.bodyLimit}\r\n\r\n${beginning}`, ''],
          ['a large body', `${head}content-length: ${origin.bodyLimit}\r\n\r\n${beginning}`, ' '],
        ] as const;
        for (const [what, start, bytes] of slow) {
          for (let copy = 0; copy < 25; copy += 1) {
            clients.push({ what, of: `${what} to ${origin.name}`, client: await drip(origin, start, bytes, 900) });
          }
        }
      }
      await expectAlive(stage, account, model);
      await until(() => clients.every(({ client }) => client.closedAfterMs !== undefined), 'all are closed', 200_000);
      const closings = (wanted: RegExp): number[] =>
        clients.filter(({ what }) => wanted.test(what)).map(({ client }) => client.closedAfterMs ?? 0);
      // The limit is ten or twenty seconds for headers and for bodies that stop or are large, and a minute for small
      // bodies.
      const small = closings(/^a body( in chunks)?$/);
      expect(Math.max(...closings(/stops|large|headers|line/))).toBeLessThan(Math.min(...small));
      for (const { of, client } of clients) {
        const answers = readAnswers(client.text);
        expect(
          answers.map(({ status }) => status),
          of,
        ).toEqual([408]);
        expect(answers.map(errorIn), of).toMatchObject([{ type: 'request_timeout' }]);
        expect(answers[0]?.headers.connection).toBe('close');
      }
      await expectAlive(stage, account, model);
    }, 240_000);

    it('ten thousand silent connections cost little, and are closed', async () => {
      // The client ends of all connections are open in this process, too.
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
          // A socket that does not read does not notice the end, either.
          for (const socket of sockets) socket.resume();
          return { origin, before, sockets };
        }),
      );
      await expectAlive(stage, account, model);
      for (const { origin, before } of silent) expect(origin.rss() - before).toBeLessThan(250 * megabyte);
      const areClosed = (): boolean => silent.every(({ sockets }) => sockets.every(({ destroyed }) => destroyed));
      await until(areClosed, 'all are closed', 60_000);
      await until(() => silent.every(({ origin }) => origin.descriptors() < 500), 'the descriptors are given back');
      await expectAlive(stage, account, model);
    }, 180_000);
  },
};
