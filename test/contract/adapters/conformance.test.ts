import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { chargeOf } from '../../kit/books.ts';
import { ask, type Flow } from '../../kit/client.ts';
import type { Dialect } from '../../kit/dialects/dialect.ts';
import { openRequest } from '../../kit/open-request.ts';
import type { ProviderHandler } from '../../kit/provider.ts';
import { send } from '../../kit/scenes/events.ts';
import { bothModes, everyWay } from '../../kit/scenes/ways.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { backupText, dialects, everyDialect, price, quick, speaks, usual } from './every-dialect.ts';

/**
 * A failure before any output: whether the broker tries the next provider, and which error a client gets without one.
 */
interface Row {
  readonly name: string;
  readonly does: (dialect: Dialect) => ProviderHandler;
  readonly next: boolean;
  readonly alone: readonly [status: number, type: string];
}

const raw = 'LEAKED-WORDS: raw words of the provider';

const fails =
  (status: number): Row['does'] =>
  (dialect) =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', 'x-leak': 'LEAKED-WORDS' });
    response.end(JSON.stringify(dialect.error(status, raw)));
  };

const status = (code: number, alone: Row['alone'], next = true): Row => ({
  name: String(code),
  does: fails(code),
  next,
  alone,
});

const providerError = [502, 'provider_error'] as const;
const invalidRequest = [400, 'invalid_request'] as const;

const unreadable = (name: string, contentType: string | undefined, body: string): Row => ({
  name,
  does: (dialect) => (request, response) => {
    const type =
      contentType ?? (isStream(dialect, request.path, request.body) ? dialect.streamType : 'application/json');
    response.writeHead(200, { 'content-type': type });
    response.end(body);
  },
  next: true,
  alone: providerError,
});

const isStream = ({ adapter }: Dialect, path: string, body: Record<string, unknown>): boolean =>
  adapter === 'google' || adapter === 'bedrock' ? /stream/.test(path) : body.stream === true;

const rows: readonly Row[] = [
  status(429, [429, 'rate_limited']),
  status(500, providerError),
  status(503, providerError),
  status(529, providerError),
  status(404, providerError),
  status(401, providerError),
  status(402, providerError),
  status(403, providerError),
  status(409, providerError),
  status(413, invalidRequest),
  status(422, invalidRequest),
  status(400, invalidRequest, false),
  {
    name: 'a refusal of the content',
    does:
      ({ refusal }) =>
      (_request, response) => {
        response.writeHead(refusal.status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(refusal.body));
      },
    next: false,
    alone: invalidRequest,
  },
  unreadable('an HTML page', 'text/html', `<html>${raw}</html>`),
  unreadable('broken JSON', 'application/json', `{"${raw}`),
  unreadable('JSON of another kind', 'application/json', `{"note":"${raw}"}`),
  unreadable('an empty body', undefined, ''),
  unreadable('noise', undefined, `${raw}\n\n\n`),
  {
    name: 'a connection that is reset',
    does: () => (_request, response) => {
      response.socket?.resetAndDestroy();
    },
    next: true,
    alone: providerError,
  },
];

/** The ways in which a stream fails before it has any output. */
const streamRows: readonly { readonly name: string; readonly does: Row['does'] }[] = [
  { name: 'an error event at once', does: (dialect) => streamed(dialect, [dialect.streamError(raw)]) },
  {
    name: 'an error event after the opening one',
    does: (dialect) => streamed(dialect, [...dialect.stream(usual).head, dialect.streamError(raw)]),
  },
  { name: 'an opening event and the end', does: (dialect) => streamed(dialect, dialect.stream(usual).head) },
];

const streamed =
  (
    { streamType }: Dialect,
    pieces: readonly Buffer[],
    end: (response: Parameters<ProviderHandler>[1]) => void = (response) => response.end(),
  ): ProviderHandler =>
  async (_request, response) => {
    response.writeHead(200, { 'content-type': streamType });
    response.flushHeaders();
    for (const piece of pieces) await send(response, piece);
    end(response);
  };

// Adapters belong to the broker alone, so one topology is enough.
await describeStage(
  'every adapter',
  everyDialect,
  (stage) => {
    let account: TestAccount;
    let payer: TestAccount;
    beforeAll(async () => {
      account = await stage.service.createAccount({ usd: 1000, preferences: { provider_sort: 'privacy' } });
      payer = await stage.service.createAccount({ usd: 1000, preferences: { provider_sort: 'privacy' } });
    });
    afterAll(() => {
      expect(stage.service.logs()).toContain('attempt failed');
      expect(stage.service.logs()).not.toContain('LEAKED-WORDS');
    });

    const asks = async (body: object, flow: Flow = 'compatibility', by = account): Promise<Answer> => {
      const answer = await ask(stage.service, by.inferenceKey, body, { flow });
      expect(`${answer.text}${JSON.stringify([...answer.headers])}`).not.toContain('LEAKED-WORDS');
      return answer;
    };

    describe.each(dialects.map((dialect) => ({ name: dialect.adapter, dialect })))('$name', ({ dialect }) => {
      /** Returns an unused model, and sets the behavior of its provider. */
      const played = (shape: 'single' | 'pair' | 'quick' | 'quick-pair', handler: ProviderHandler) => {
        const { adapter } = dialect;
        const provider = shape.startsWith('quick') ? `${adapter}-quick` : adapter;
        const scene = stage.scene(`${adapter}-${shape}`);
        scene.on(provider, handler);
        return { model: scene.model, asked: scene.seen(provider) };
      };

      describe.each(everyWay)('$name', ({ flow, stream }) => {
        it('serves, and asks as the vendor documents it, with our key and nothing of the client’s', async () => {
          const { model, asked } = played('single', speaks(dialect, usual));
          const answer = await asks({ model, stream, max_tokens: 77, stop: ['END'] }, flow);
          expect(answer).toMatchObject({ status: 200, content: usual.text, done: stream });
          expect(answer.headers.get('x-router-provider')).toBe(dialect.adapter);
          const [request] = asked;
          if (request === undefined) throw new Error('nobody was asked');
          expect(dialect.asked(request)).toMatchObject({
            stream,
            key: `key-of-${dialect.adapter}`,
            turns: [{ side: 'user', text: 'Say hello.' }],
            maxTokens: 77,
            stop: ['END'],
          });
          const { headers } = request;
          const known = [
            'host',
            'connection',
            'content-type',
            'content-length',
            'accept',
            'accept-encoding',
            'transfer-encoding',
          ];
          const own = ['authorization', 'api-key', 'x-api-key', 'x-goog-api-key', 'anthropic-version'];
          expect(Object.keys(headers).filter((name) => ![...known, ...own].includes(name))).toEqual([]);
          expect(JSON.stringify(headers) + request.text).not.toContain(account.inferenceKey);
        });
      });

      describe.each(bothModes)('$name', ({ stream }) => {
        it.each(rows.filter(({ next }) => next))('$name: the next provider serves', async ({ does }) => {
          const { model, asked } = played('pair', does(dialect));
          // The request sets the order, because some failures penalize every model of the provider.
          const answer = await asks({ model, stream, provider: { order: [dialect.adapter] } });
          expect(answer).toMatchObject({ status: 200, content: backupText, done: stream });
          expect(answer.headers.get('x-router-provider-attempts')).toBe('2');
          expect(asked).toHaveLength(1);
        });

        it.each(rows)('$name, alone: our own error', async ({ does, alone: [code, type] }) => {
          const { model } = played('single', does(dialect));
          const answer = await asks({ model, stream });
          expect(answer).toMatchObject({ status: code, error: { type, message: expect.any(String) } });
        });
      });

      it.each(rows.filter(({ next }) => !next))(
        '$name: no other provider is tried',
        async ({ does, alone: [code, type] }) => {
          const { model } = played('pair', does(dialect));
          const answer = await asks({ model, provider: { order: [dialect.adapter] } });
          expect(answer).toMatchObject({ status: code, error: { type } });
        },
      );

      if (dialect.adapter === 'google' || dialect.adapter === 'bedrock')
        it.each(bothModes)(
          'a field that the API does not support is not sent: another provider serves, alone it is a 400 that names the field ($name)',
          async ({ stream }) => {
            const content = [{ type: 'image_url', image_url: { url: 'https://pictures.example/LEAKED-WORDS.png' } }];
            const messages = [{ role: 'user', content }];
            const pair = played('pair', speaks(dialect, usual));
            const answer = await asks({ model: pair.model, stream, messages, provider: { order: [dialect.adapter] } });
            expect(answer).toMatchObject({ status: 200, content: backupText });
            const single = played('single', speaks(dialect, usual));
            const alone = await asks({ model: single.model, stream, messages });
            const param = 'messages.0.content.0.image_url.url';
            expect(alone).toMatchObject({ status: 400, error: { type: 'invalid_request', param } });
            expect(alone.error?.message).toContain('data:');
            expect([...pair.asked, ...single.asked]).toEqual([]);
          },
        );

      it.each(streamRows)('a stream with $name: the next provider serves', async ({ does }) => {
        const { model } = played('pair', does(dialect));
        const answer = await asks({ model, stream: true, provider: { order: [dialect.adapter] } });
        expect(answer).toMatchObject({ status: 200, content: backupText, done: true });
      });

      it.each([
        ['that says an error', (): ProviderHandler => streamed(dialect, [...begun(dialect), dialect.streamError(raw)])],
        ['that ends', (): ProviderHandler => streamed(dialect, begun(dialect))],
        ['that breaks off', (): ProviderHandler => streamed(dialect, begun(dialect), (response) => response.destroy())],
      ])('a stream %s in the middle of its answer: ends with an error frame, and is free', async (_, handler) => {
        const { model } = played('pair', handler());
        const charge = await chargeOf(stage.service, payer, async () => {
          const answer = await asks(
            { model, stream: true, provider: { order: [dialect.adapter] } },
            'compatibility',
            payer,
          );
          expect(answer).toMatchObject({ status: 200, done: false, error: { type: 'provider_error' } });
          expect(usual.text?.startsWith(answer.content)).toBe(true);
          expect(answer.content).not.toBe('');
        });
        expect(charge).toBe(0n);
      });

      describe.each(bothModes)('$name', ({ stream }) => {
        it('usage is exact, down to the nano-dollar: fresh, cached, written, output and reasoning', async () => {
          // Google has no price for cache writes, and Bedrock does not report reasoning separately.
          const written = dialect.adapter === 'google' ? 0 : 300;
          const told = dialect.adapter === 'bedrock' ? 0 : 40;
          const usage = { fresh: 1000, cached: 200, written, output: 60, reasoning: 40 };
          const { model } = played('single', speaks(dialect, { ...usual, usage }));
          const cost = 1000 * price.input + 200 * price.cached_input + written * price.cache_write + 100 * price.output;
          const charge = await chargeOf(stage.service, payer, async () => {
            // The prompt is long, because the broker rejects a token count above the number of bytes that it sent.
            const messages = [{ role: 'user', content: 'word '.repeat(400) }];
            const body = { model, stream, messages, stream_options: { include_usage: true } };
            const answer = await asks(body, 'compatibility', payer);
            expect(answer.body.usage).toMatchObject({
              prompt_tokens: 1200 + written,
              completion_tokens: 100,
              total_tokens: 1300 + written,
              prompt_tokens_details: { cached_tokens: 200 },
              cost: cost / 1e6,
              ...(told === 0 ? {} : { completion_tokens_details: { reasoning_tokens: told } }),
            });
          });
          expect(charge).toBe(BigInt(cost * 1000));
        });

        it.each([
          ['length', 'length'],
          ['refusal', 'content_filter'],
          ['stop', 'stop'],
        ] as const)('an answer that ends by %s says %s', async (finish, reason) => {
          const { model } = played('single', speaks(dialect, { ...usual, finish }));
          const answer = await asks({ model, stream });
          const said = stream
            ? answer.chunks.map(({ choices }) => choices?.[0]?.finish_reason).find(Boolean)
            : undefined;
          expect(said ?? answer.body.choices?.[0]?.finish_reason).toBe(reason);
          expect(answer.status).toBe(200);
        });

        it('shows reasoning beside the text, and hides it if the request says so', async () => {
          const reasoning = { text: 'First I thought.', signature: 'U0lHTkFUVVJF' };
          const says = { ...usual, reasoning, usage: { fresh: 5, output: 8, reasoning: 4 } };
          const { model } = played('single', speaks(dialect, says));
          const read = ({ body, chunks }: Answer): string =>
            stream
              ? chunks.map(({ choices }) => choices?.[0]?.delta?.reasoning ?? '').join('')
              : (body.choices?.[0]?.message?.reasoning ?? '');
          const shown = await asks({ model, stream });
          expect(shown.content).toBe(usual.text);
          expect(read(shown)).toBe(reasoning.text);
          const hide = { [`${dialect.adapter}_parameters`]: { strip_thinking_response: true } };
          const hidden = await asks({ model, stream, ...hide });
          expect(hidden.content).toBe(usual.text);
          expect(hidden.text).not.toContain('thought');
        });

        it('first byte: the broker abandons a silent provider and closes its connection', async () => {
          const { model, asked } = played('quick-pair', () => {});
          const answer = await asks({ model, stream });
          expect(answer).toMatchObject({ status: 200, content: backupText });
          await asked[0]?.closed;
        });

        it('total: a provider without alternatives may be silent until this limit', async () => {
          const { model, asked } = played('quick', () => {});
          const startedAt = performance.now();
          const answer = await asks({ model, stream });
          expect(answer).toMatchObject({ status: 504, error: { type: 'provider_timeout' } });
          expect(performance.now() - startedAt).toBeGreaterThan(quick.total_ms - 50);
          await asked[0]?.closed;
        });

        it('idle: the broker abandons an answer that stalls', async () => {
          const stalls: ProviderHandler = stream
            ? streamed(dialect, begun(dialect), () => {})
            : async (_request, response) => {
                response.writeHead(200, { 'content-type': 'application/json' });
                await send(response, '{');
              };
          const { model, asked } = played('quick', stalls);
          const answer = await asks({ model, stream });
          if (stream) expect(answer).toMatchObject({ status: 200, done: false, error: { type: 'provider_error' } });
          else expect(answer).toMatchObject({ status: 504, error: { type: 'provider_timeout' } });
          await asked[0]?.closed;
        });

        it('a client that leaves: the provider’s connection is closed, and no other provider is asked', async () => {
          const { model, asked } = played('pair', stream ? streamed(dialect, begun(dialect), () => {}) : () => {});
          // The request sets the order, because a penalty applies to all models of the provider.
          const provider = { order: [dialect.adapter] };
          const open = await openRequest(stage.service, account, { model, stream, provider, ...unreasoned });
          await until(() => asked.length === 1 && (!stream || open.received !== ''), 'the answer has begun');
          open.leave();
          // No time limit of the provider can end the connection within the test's time.
          await asked[0]?.closed;
          expect(asked).toHaveLength(1);
        });
      });

      it('a client that leaves in the middle pays for the output so far', async () => {
        const { model, asked } = played(
          'single',
          streamed(dialect, begun(dialect), () => {}),
        );
        const charge = await chargeOf(stage.service, payer, async () => {
          const open = await openRequest(stage.service, payer, { model, stream: true, ...unreasoned });
          await until(() => open.received !== '', 'the answer has begun');
          open.leave();
          await asked[0]?.closed;
        });
        expect(charge).toBeGreaterThan(0n);
        expect(charge).toBeLessThan(1_000_000n);
      });

      it('a stream split at any byte gives the same answer', async () => {
        const says = {
          ...usual,
          text: 'Grüße, “Wörter” — 日本 🦔 and\n\nmore.',
          calls: [{ name: 'weather', args: { city: 'Ærø' } }],
        };
        const { head, pieces, tail } = dialect.stream(says);
        const bytes = Buffer.concat([...head, ...pieces, ...tail]);
        for (const size of [1, 7, 64, 1000]) {
          const cuts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
            bytes.subarray(at * size, (at + 1) * size),
          );
          const { model } = played('single', streamed(dialect, cuts));
          const answer = await asks({ model, stream: true });
          expect(answer).toMatchObject({ status: 200, content: says.text, done: true });
        }
      });
    });
  },
  { planes: ['one'] },
);

/** Disables reasoning. Otherwise the broker waits for the usage after the client has left. */
const unreasoned = { reasoning: { enabled: false } };

/** Returns the opening and a few words of an answer that does not end. */
const begun = (dialect: Dialect): Buffer[] => {
  const { head, pieces } = dialect.stream(usual);
  return [...head, ...pieces.slice(0, 4)];
};
