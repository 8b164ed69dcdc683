import type { ServerResponse } from 'node:http';
import { noteSkip, redisSkipReason, startOwnRedis, until } from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { filesOf, providerEntry, routeEntry, textModel } from '../kit/catalog.ts';
import { bearer } from '../kit/client.ts';
import { type OwnPostgres, startOwnPostgres } from '../kit/postgres.ts';
import { type FakeProvider, startProvider } from '../kit/provider.ts';
import { type Service, startService, type TestAccount } from '../kit/service.ts';

const comment = ': keep-alive\n\n';
const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const usage = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } })}\n\n`;

const ending = `${chunk({}, 'stop')}${usage}data: [DONE]\n\n`;

const redis = await startOwnRedis();
if (redis === undefined) noteSkip('streams that are silent', redisSkipReason);

/** A provider whose answers a test writes by hand. */
interface Held extends FakeProvider {
  /** The answer to the latest request. */
  readonly response: () => Promise<ServerResponse>;
}

async function heldProvider(): Promise<Held> {
  const responses: ServerResponse[] = [];
  const provider = await startProvider((_, response) => void responses.push(response));
  return Object.assign(provider, {
    async response() {
      await until(() => responses.length > 0, 'the provider was asked');
      return responses.pop() as ServerResponse;
    },
  });
}

/** Reads a streamed answer as it arrives. */
function reading(response: Response) {
  let text = '';
  const ended = (async () => {
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) text += piece;
    return text;
  })();
  return { ended, text: () => text, has: (part: string) => until(() => text.includes(part), `the answer has ${part}`) };
}

describe.skipIf(redis === undefined)('a stream that is silent', () => {
  let postgres: OwnPostgres;
  let first: Held;
  let second: Held;

  beforeAll(async () => {
    [postgres, first, second] = await Promise.all([
      startOwnPostgres({ durability: 'fast' }),
      heldProvider(),
      heldProvider(),
    ]);
  });
  afterAll(async () => {
    await Promise.all([first?.stop(), second?.stop(), redis?.stop()]);
    await postgres?.stop();
  });

  async function withService(
    environment: Readonly<Record<string, string>>,
    use: (service: Service, account: TestAccount, ask: () => Promise<Response>) => Promise<void>,
  ): Promise<void> {
    const routes = ['first', 'second'].map((provider) => routeEntry(provider));
    const service = await startService({
      planes: 'two',
      databaseUrl: await postgres.createDatabase(),
      redisUrl: redis?.url ?? '',
      ...filesOf(
        [providerEntry('first', first.baseUrl), providerEntry('second', second.baseUrl)],
        [textModel('m/one', routes)],
      ),
      environment,
    });
    try {
      const account = await service.createAccount();
      const body = {
        ...{ model: 'm/one', stream: true, max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] },
        provider: { order: ['first', 'second'] },
      };
      await use(service, account, () =>
        fetch(`${service.baseUrl}/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...bearer(account.inferenceKey) },
          body: JSON.stringify(body),
        }),
      );
    } finally {
      await service.stop();
    }
  }

  it('gets comments between its frames, which cost nothing, and waits with its headers for output', async () => {
    await withService({ STREAM_KEEPALIVE_S: '0.05' }, async (service, account, ask) => {
      const before = await service.settled(account);
      const asked = ask();
      const response = await first.response();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk({ role: 'assistant', content: 'one' }));
      const answer = reading(await asked);
      await answer.has(`${comment}${comment}`);
      response.end(chunk({ content: ' two' }) + ending);
      const text = await answer.ended;
      expect(text.replaceAll(comment, '')).toMatch(/"one".*" two".*\[DONE\]\n\n$/s);
      // 10 tokens at 1 USD and 5 at 2 USD a million, in nano-USD.
      expect(before - (await service.settled(account))).toBe(20_000n);
    });
  });

  it('leaves its headers early if the operator says so: then nothing can follow, and a failure is free', async () => {
    const early = { STREAM_KEEPALIVE_S: '0.05', STREAM_HEADERS_AFTER_S: '0.1' };
    await withService(early, async (service, account, ask) => {
      const before = await service.settled(account);
      const others = second.seen.length;
      const asked = await ask();
      expect([asked.status, asked.headers.get('x-router-provider')]).toEqual([200, 'first']);
      const answer = reading(asked);
      await answer.has(comment);
      (await first.response()).writeHead(500).end('{}');
      await answer.has('"error"');
      await expect(answer.ended).rejects.toThrow('terminated');
      expect(answer.text()).not.toContain('[DONE]');
      const [frame = ''] = /data: .*/.exec(answer.text()) ?? [];
      expect(JSON.parse(frame.slice('data: '.length))).toEqual({
        error: expect.objectContaining({ type: 'provider_error' }),
      });
      expect(await service.settled(account)).toBe(before);
      expect(second.seen).toHaveLength(others);

      // One that answers in the end is as any other.
      const slow = await ask();
      const response = await first.response();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(chunk({ content: 'late' }) + ending);
      expect(await reading(slow).ended).toMatch(/"late".*\[DONE\]\n\n$/s);
      expect(before - (await service.settled(account))).toBe(20_000n);
    });
  });
});
