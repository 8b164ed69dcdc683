import { beforeAll, describe, expect, it } from 'vitest';
import { answerError, answerNothing, type ProviderHandler } from '../../kit/provider.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import { rawText, rows } from '../../routing/failover/misbehave.ts';
import { type Answer, ask, errorOf, type Operation } from './ask.ts';
import type { MediaStage } from './suite.ts';
import { answerEndlessly, answerImage, answerSpeech, audio, png, type Scene, timeouts } from './world.ts';

/** What a provider gets of a request beside its body. */
const upstreamHeaders = ['accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host'];

const says =
  (headers: Record<string, string>, body: string | Buffer): ProviderHandler =>
  (_request, response) => {
    response.writeHead(200, headers);
    response.end(body);
  };

/** Answers of status 200 that are not what was asked for. */
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

/** Every failover row, each timer, and what leaks: the same for every adapter and operation. */
export function failuresSuite(stage: MediaStage): void {
  let account: TestAccount;
  beforeAll(async () => {
    account = await stage.service.createAccount({ usd: 1000 });
    // What runs for the first time takes longer than the limits here allow.
    for (const operation of ['image', 'speech'] as const) await asks(operation, stage.world.scene(operation));
  });
  const asks = (operation: Operation, { model }: Scene): Promise<Answer> =>
    ask(stage.service, account, operation, operation === 'image' ? { model, prompt: 'a cat' } : { model, input: 'Hi' });
  const served = (operation: Operation, answer: Answer): void => {
    expect(answer.status, answer.bytes.toString().slice(0, 300)).toBe(200);
    if (operation === 'speech') expect(answer.bytes.equals(audio())).toBe(true);
    else expect(answer.bytes.toString()).toContain(png.toString('base64'));
  };
  const nothingLeaks = ({ bytes, headers }: Answer): void => {
    expect(bytes.toString('latin1') + JSON.stringify(headers)).not.toMatch(/RAW-PROVIDER-ERROR|own-name|OWN-PROMPT/);
  };

  describe.each(['image', 'speech'] as const)('%s', (operation) => {
    it.each(rows)('$name', async ({ does, next, penalizes, alone, ambiguous }) => {
      const lonely = stage.world.scene(operation, 'single');
      lonely.on('alpha', does);
      const refused = await asks(operation, lonely);
      expect(errorOf(refused)).toEqual([...alone]);

      if (ambiguous) expect(refused.headers['x-should-retry']).toBe('false');
      nothingLeaks(refused);

      const scene = stage.world.scene(operation);
      scene.on('alpha', does);
      const answer = await asks(operation, scene);
      nothingLeaks(answer);
      if (next) served(operation, answer);
      else expect(errorOf(answer)).toEqual([...alone]);
      expect(scene.called).toEqual(next ? ['alpha', 'beta'] : ['alpha']);
      // A penalty shows in who is asked first from then on.
      await asks(operation, scene);
      expect(scene.called[next ? 2 : 1]).toBe(penalizes === 'route' ? 'beta' : 'alpha');
    });

    it.each(unusable[operation])('%s under status 200: the next provider serves', async (_, does) => {
      const scene = stage.world.scene(operation);
      scene.on('alpha', does);
      served(operation, await asks(operation, scene));
      expect(scene.called).toEqual(['alpha', 'beta']);
      await scene.seen('alpha')[0]?.closed;
    });

    it('a provider that says nothing: the next serves after first_byte', async () => {
      const scene = stage.world.scene(operation);
      scene.on('alpha', answerNothing);
      const startedAt = performance.now();
      served(operation, await asks(operation, scene));
      expect(performance.now() - startedAt).toBeGreaterThan(timeouts.first_byte_ms - 50);
      await scene.seen('alpha')[0]?.closed;
    });

    it('headers without a body: the next serves', async () => {
      const scene = stage.world.scene(operation);
      scene.on('alpha', (_request, response) => {
        response.writeHead(200, { 'content-type': operation === 'image' ? 'application/json' : 'audio/mpeg' });
        response.flushHeaders();
      });
      served(operation, await asks(operation, scene));
    });

    it('the last candidate may be silent for longer than first_byte, but not than total', async () => {
      const late = stage.world.scene(operation, 'single');
      const serve = operation === 'image' ? answerImage() : answerSpeech();
      late.on('alpha', (request, response) => {
        setTimeout(() => void serve(request, response), timeouts.first_byte_ms + 500);
      });
      served(operation, await asks(operation, late));
      const never = stage.world.scene(operation, 'single');
      never.on('alpha', answerNothing);
      expect(errorOf(await asks(operation, never))).toEqual([504, 'provider_timeout']);
    });

    it('401 and 402 concern every route of the provider', async () => {
      const id = operation === 'image' ? 'gamma' : 'delta';
      const scene = stage.world.scene(operation, id);
      scene.on(id, answerError(operation === 'image' ? 401 : 402));
      served(operation, await asks(operation, scene));
      expect(scene.called).toEqual([id, 'beta']);
      const other = stage.world.scene(operation, id);
      served(operation, await asks(operation, other));
      expect(other.called).toEqual(['beta']);
    });

    it('all failed: provider_fallback_exhausted, and the bodies of none', async () => {
      const scene = stage.world.scene(operation);
      scene.on('alpha', answerError(503));
      scene.on('beta', answerError(400));
      const answer = await asks(operation, scene);
      expect(errorOf(answer)).toEqual([503, 'provider_fallback_exhausted']);
      nothingLeaks(answer);
    });

    it('sends the provider nothing of the client’s', async () => {
      const scene = stage.world.scene(operation);
      await asks(operation, scene);
      const [seen] = [...scene.seen('alpha'), ...scene.seen('beta')];
      expect(Object.keys(seen?.headers ?? {}).sort()).toEqual(upstreamHeaders);
    });
  });

  it('an image that stalls in the middle of its body: the next serves after idle', async () => {
    const scene = stage.world.scene('image');
    scene.on('alpha', (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"data":[{"b64_json":"AAAA');
    });
    served('image', await asks('image', scene));
    expect(scene.called).toEqual(['alpha', 'beta']);
    await scene.seen('alpha')[0]?.closed;
  });

  it('nothing of it all is in the logs', async () => {
    await until(() => stage.service.logs().includes('attempt failed'), 'failures are logged');
    expect(stage.service.logs()).not.toMatch(/RAW-PROVIDER-ERROR|a cat|own-name|iVBOR/);
  });
}
