import { beforeAll, describe, expect, it } from 'vitest';
import type { BytesAnswer } from '../../kit/open-bytes.ts';
import { answerError, answerNothing, type ProviderHandler } from '../../kit/provider.ts';
import { rawText, rows } from '../../kit/scenes/misbehave.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import type { Scene } from '../../kit/stage/scene.ts';
import type { Stage } from '../../kit/stage/stage.ts';
import { answerEndlessly, answerImage, answerSpeech, audio, png } from './answers.ts';
import { askMedia, errorOf } from './ask-media.ts';
import { mediaSpec, type Operation, sceneOf, timeouts } from './spec.ts';

// Providers belong to the broker alone, so one topology is enough.
await describeStage('failing providers of images and speech', mediaSpec, failuresSuite, { planes: ['one'] });

/** The headers that a provider receives. */
const upstreamHeaders = ['accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host'];

const says =
  (headers: Record<string, string>, body: string | Buffer): ProviderHandler =>
  (_request, response) => {
    response.writeHead(200, headers);
    response.end(body);
  };

/** Answers with status 200 that do not contain the requested image or audio. */
const unusable: Readonly<Record<Operation, readonly (readonly [name: string, does: ProviderHandler])[]>> = {
  image: [
    ['an image that is no base64', says({ 'content-type': 'application/json' }, '{"data":[{"b64_json":"<svg/>"}]}')],
    ['an address', says({ 'content-type': 'application/json' }, '{"data":[{"url":"https://x.example/"}]}')],
    ['no image', says({ 'content-type': 'application/json' }, '{"data":[]}')],
    [
      'an answer without end',
      answerEndlessly('application/json', Buffer.from('{"data":[{"b64_json":"'), Buffer.alloc(65_536, 'A')),
    ],
  ],
  speech: [
    ['no audio at all', says({ 'content-type': 'audio/mpeg' }, '')],
    ['another format', says({ 'content-type': 'audio/wav' }, 'RIFF')],
    ['a page', says({ 'content-type': 'text/html' }, `<h1>${rawText}</h1>`)],
    ['JSON without end', answerEndlessly('application/json', Buffer.from('{'), Buffer.alloc(10_000, ' '))],
    [
      'audio of which nobody can tell the end',
      (_request, response) => {
        response.socket?.end(
          Buffer.concat([
            Buffer.from('HTTP/1.1 200 OK\r\ncontent-type: audio/mpeg\r\nconnection: close\r\n\r\n'),
            audio(),
          ]),
        );
      },
    ],
  ],
};

/** Tests every failover rule, each time limit and each possible leak, for every adapter and operation. */
function failuresSuite(stage: Stage): void {
  let account: TestAccount;
  beforeAll(async () => {
    account = await stage.service.createAccount({ usd: 1000 });
    // The first call of a code path takes longer than the time limits of these tests.
    for (const operation of ['image', 'speech'] as const) await asks(operation, sceneOf(stage, operation));
  });
  const asks = (operation: Operation, { model }: Scene): Promise<BytesAnswer> =>
    askMedia(
      stage.service,
      account,
      operation,
      operation === 'image' ? { model, prompt: 'a cat' } : { model, input: 'Hi' },
    );
  const served = (operation: Operation, answer: BytesAnswer): void => {
    expect(answer.status, answer.bytes.toString().slice(0, 300)).toBe(200);
    if (operation === 'speech') expect(answer.bytes.equals(audio())).toBe(true);
    else expect(answer.bytes.toString()).toContain(png.toString('base64'));
  };
  const nothingLeaks = ({ bytes, headers }: BytesAnswer): void => {
    expect(bytes.toString('latin1') + JSON.stringify(headers)).not.toMatch(/RAW-PROVIDER-ERROR|own-name|OWN-PROMPT/);
  };

  describe.each(['image', 'speech'] as const)('%s', (operation) => {
    it.each(rows)('$name', async ({ does, next, penalizes, alone, ambiguous }) => {
      const lonely = sceneOf(stage, operation, 'single');
      lonely.on('alpha', does);
      const refused = await asks(operation, lonely);
      expect(errorOf(refused)).toEqual([...alone]);

      if (ambiguous) expect(refused.headers['x-should-retry']).toBe('false');
      nothingLeaks(refused);

      const scene = sceneOf(stage, operation);
      scene.on('alpha', does);
      const answer = await asks(operation, scene);
      nothingLeaks(answer);
      if (next) served(operation, answer);
      else expect(errorOf(answer)).toEqual([...alone]);
      expect(scene.called).toEqual(next ? ['alpha', 'beta'] : ['alpha']);
      // The next request shows a penalty: its provider is not the first any more.
      await asks(operation, scene);
      expect(scene.called[next ? 2 : 1]).toBe(penalizes === 'route' ? 'beta' : 'alpha');
    });

    it.each(unusable[operation])('%s under status 200: the next provider serves', async (_, does) => {
      const scene = sceneOf(stage, operation);
      scene.on('alpha', does);
      served(operation, await asks(operation, scene));
      expect(scene.called).toEqual(['alpha', 'beta']);
      await scene.seen('alpha')[0]?.closed;
    });

    it('a provider that says nothing: the next serves after first_byte', async () => {
      const scene = sceneOf(stage, operation);
      scene.on('alpha', answerNothing);
      const startedAt = performance.now();
      served(operation, await asks(operation, scene));
      expect(performance.now() - startedAt).toBeGreaterThan(timeouts.first_byte_ms - 50);
      await scene.seen('alpha')[0]?.closed;
    });

    it('headers without a body: the next provider serves', async () => {
      const scene = sceneOf(stage, operation);
      scene.on('alpha', (_request, response) => {
        response.writeHead(200, { 'content-type': operation === 'image' ? 'application/json' : 'audio/mpeg' });
        response.flushHeaders();
      });
      served(operation, await asks(operation, scene));
    });

    it('the last candidate may be silent for longer than first_byte, but not than total', async () => {
      const late = sceneOf(stage, operation, 'single');
      const serve = operation === 'image' ? answerImage() : answerSpeech();
      late.on('alpha', (request, response) => {
        setTimeout(() => void serve(request, response), timeouts.first_byte_ms + 500);
      });
      served(operation, await asks(operation, late));
      const never = sceneOf(stage, operation, 'hasty');
      never.on('hasty', answerNothing);
      expect(errorOf(await asks(operation, never))).toEqual([504, 'provider_timeout']);
    });

    it('401 and 402 penalize every route of the provider', async () => {
      const id = operation === 'image' ? 'gamma' : 'delta';
      const scene = sceneOf(stage, operation, id);
      scene.on(id, answerError(operation === 'image' ? 401 : 402));
      served(operation, await asks(operation, scene));
      expect(scene.called).toEqual([id, 'beta']);
      const other = sceneOf(stage, operation, id);
      served(operation, await asks(operation, other));
      expect(other.called).toEqual(['beta']);
    });

    it('if every provider fails: provider_fallback_exhausted, without the body of any of them', async () => {
      const scene = sceneOf(stage, operation);
      scene.on('alpha', answerError(503));
      scene.on('beta', answerError(400));
      const answer = await asks(operation, scene);
      expect(errorOf(answer)).toEqual([503, 'provider_fallback_exhausted']);
      nothingLeaks(answer);
    });

    it('sends the provider none of the client’s headers', async () => {
      const scene = sceneOf(stage, operation);
      await asks(operation, scene);
      const [seen] = [...scene.seen('alpha'), ...scene.seen('beta')];
      expect(Object.keys(seen?.headers ?? {}).sort()).toEqual(upstreamHeaders);
    });
  });

  it('an image that stalls in the middle of its body: the next serves after idle', async () => {
    const scene = sceneOf(stage, 'image');
    scene.on('alpha', (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"data":[{"b64_json":"AAAA');
    });
    served('image', await asks('image', scene));
    expect(scene.called).toEqual(['alpha', 'beta']);
    await scene.seen('alpha')[0]?.closed;
  });

  it('the logs contain none of this text', async () => {
    await until(() => stage.service.logs().includes('attempt failed'), 'failures are logged');
    expect(stage.service.logs()).not.toMatch(/RAW-PROVIDER-ERROR|a cat|own-name|iVBOR/);
  });
}
