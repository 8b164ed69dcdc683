import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { ask, type Flow } from '../../kit/client.ts';
import type { ProviderHandler } from '../../kit/provider.ts';
import type { TestAccount } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { oneModel } from '../../kit/stage/one-model.ts';

const clients = 200;
const pieces = 12;
const markerLike = /who-[0-9a-f]{24}/g;

/** Answers with the text that it received, in pieces that interleave with all other streams. */
const echo: ProviderHandler = async (request, response) => {
  const messages = request.body.messages as readonly { content: string }[];
  const own = messages[0]?.content ?? '';
  const usage = { prompt_tokens: 10, completion_tokens: pieces, total_tokens: 10 + pieces };
  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
  await pause();
  if (request.body.stream !== true) {
    const choices = [{ index: 0, message: { role: 'assistant', content: own }, finish_reason: 'stop' }];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id: own, object: 'chat.completion', created: 1, model: 'own', choices, usage }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const chunk = (choices: object[], more: object = {}): string =>
    `data: ${JSON.stringify({ id: own, object: 'chat.completion.chunk', created: 1, model: 'own', choices, ...more })}\n\n`;
  for (let piece = 0; piece < pieces; piece += 1) {
    // Some events arrive in halves, with other clients' events between them.
    const text = chunk([{ index: 0, delta: { content: ` ${own}` }, finish_reason: null }]);
    const at = Math.floor(Math.random() * text.length);
    response.write(text.slice(0, at));
    await pause();
    response.write(text.slice(at));
  }
  response.write(chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]));
  response.write(chunk([], { usage }));
  response.end('data: [DONE]\n\n');
};

/**
 * Sends the request again while the broker refuses it as overloaded. All clients at once are too many for a cold or
 * busy broker.
 */
async function askUntilServed(asking: () => Promise<Answer>): Promise<Answer> {
  for (const end = Date.now() + 30_000; ; ) {
    const called = await asking();
    const retryAfter = called.headers.get('retry-after');
    if (called.status !== 503 || retryAfter === null || Date.now() > end) return called;
    await new Promise((resolve) => setTimeout(resolve, 1000 * Number(retryAfter)));
  }
}

await describeStage('clients at the same time', { ...oneModel, answers: () => echo }, (stage) => {
  it(`never see each other's text: ${clients} of them, streams and whole answers, in both flows, of two accounts`, async () => {
    const { service } = stage;
    const accounts = await Promise.all([service.createAccount(), service.createAccount()]);
    const asked = Array.from({ length: clients }, async (_, index) => {
      const own = `who-${randomBytes(12).toString('hex')}`;
      const { inferenceKey } = accounts[index % 2] as TestAccount;
      const flow: Flow = index % 4 < 2 ? 'compatibility' : 'ticket';
      const stream = index % 5 !== 0;
      const body = { model: 'm/one', messages: [{ role: 'user', content: own }], stream };
      const { complete, text, headers, status } = await askUntilServed(() =>
        ask(service, inferenceKey, body, { flow }),
      );
      return { own, complete, stream, status, said: text + JSON.stringify([...headers]) };
    });
    const ids = new Set<string>();
    for (const { own, complete, stream, status, said } of await Promise.all(asked)) {
      expect(complete, `${status} ${said}`).toBe(true);
      const texts = said.match(markerLike) ?? [];
      expect(texts.length).toBe(stream ? pieces : 1);
      expect([...new Set(texts)]).toEqual([own]);
      expect(said).toContain('"cache-control","no-store"');
      // No two answers share an id.
      const id = /chatcmpl-[\w-]{22}/.exec(said)?.[0] ?? '';
      expect(id).not.toBe('');
      expect(ids.has(id)).toBe(false);
      ids.add(id);
    }
    expect(stage.provider('alpha').seen.length).toBe(clients);
  });
});
