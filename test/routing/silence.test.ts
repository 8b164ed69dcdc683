import type { ServerResponse } from 'node:http';
import { until } from '@sotto/test-servers';
import { expect, it } from 'vitest';
import { bearer } from '../kit/client.ts';
import { answerNothing } from '../kit/provider.ts';
import { describeStage } from '../kit/stage/describe-stage.ts';
import type { StageSpec } from '../kit/stage/spec.ts';
import type { Stage } from '../kit/stage/stage.ts';

const comment = ': keep-alive\n\n';
const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const usage = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } })}\n\n`;

const ending = `${chunk({}, 'stop')}${usage}data: [DONE]\n\n`;

/** Reads a streamed answer as it arrives. */
function reading(response: Response) {
  let text = '';
  const ended = (async () => {
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) text += piece;
    return text;
  })();
  return { ended, text: () => text, has: (part: string) => until(() => text.includes(part), `the answer has ${part}`) };
}

/** Two providers whose answers a test writes by hand, of which the first is asked first. */
const specWith = (environment: Readonly<Record<string, string>>): StageSpec => ({
  providers: { first: { answers: answerNothing }, second: {} },
  models: { 'm/one': { routes: { first: [1, 2], second: [1, 2] } } },
  environment,
});

async function begin({ service, on }: Stage) {
  const responses: ServerResponse[] = [];
  on('first', (_, response) => void responses.push(response));
  const account = await service.createAccount();
  const body = {
    ...{ model: 'm/one', stream: true, max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] },
    provider: { order: ['first', 'second'] },
  };
  return {
    service,
    account,
    ask: () =>
      fetch(`${service.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...bearer(account.inferenceKey) },
        body: JSON.stringify(body),
      }),
    /** Resolves to the response of the first provider to the latest request. */
    async answering() {
      await until(() => responses.length > 0, 'the provider was asked');
      return responses.pop() as ServerResponse;
    },
  };
}

await describeStage(
  'a stream that is silent',
  specWith({ STREAM_KEEPALIVE_S: '0.05' }),
  (stage) => {
    it('gets comments between its frames, which cost nothing, and waits with its headers for output', async () => {
      const { service, account, ask, answering } = await begin(stage);
      const before = await service.settled(account);
      const asked = ask();
      const response = await answering();
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
  },
  { planes: ['two'] },
);

const early = { STREAM_KEEPALIVE_S: '0.05', STREAM_HEADERS_AFTER_S: '0.1' };
await describeStage(
  'a stream that is silent',
  specWith(early),
  (stage) => {
    it('leaves its headers early if the operator says so: then nothing can follow, and a failure is free', async () => {
      const { service, account, ask, answering } = await begin(stage);
      const before = await service.settled(account);
      const others = stage.provider('second').seen.length;
      const asked = await ask();
      expect([asked.status, asked.headers.get('x-router-provider')]).toEqual([200, 'first']);
      const answer = reading(asked);
      await answer.has(comment);
      (await answering()).writeHead(500).end('{}');
      await answer.has('"error"');
      await expect(answer.ended).rejects.toThrow('terminated');
      expect(answer.text()).not.toContain('[DONE]');
      const [frame = ''] = /data: .*/.exec(answer.text()) ?? [];
      expect(JSON.parse(frame.slice('data: '.length))).toEqual({
        error: expect.objectContaining({ type: 'provider_error' }),
      });
      expect(await service.settled(account)).toBe(before);
      expect(stage.provider('second').seen).toHaveLength(others);

      // One that answers in the end is as any other.
      const slow = await ask();
      const response = await answering();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(chunk({ content: 'late' }) + ending);
      expect(await reading(slow).ended).toMatch(/"late".*\[DONE\]\n\n$/s);
      expect(before - (await service.settled(account))).toBe(20_000n);
    });
  },
  { planes: ['two'] },
);
