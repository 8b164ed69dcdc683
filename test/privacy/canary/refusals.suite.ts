import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type Answer, allOf } from '../../kit/answer.ts';
import { ask, bearer } from '../../kit/client.ts';
import { type HeaderMap, post } from '../../kit/send.ts';
import { flows } from './content.suite.ts';
import { found } from './disguises.ts';
import { content, formsOf, fullBody } from './markers.ts';
import { answersWell } from './provider-answers.ts';
import type { StageOf } from './stage.ts';

/** Every kind of refusal: content in the wrong place, in the wrong shape, from the wrong caller. */
export function refusalsSuite(stage: StageOf): void {
  describe('no sink holds refused content', () => {
    it('after requests that are refused', async () => {
      stage().onAll(answersWell);
      const { service, account, pauper, limited } = stage();
      const key = bearer(account.inferenceKey);
      const { Malformed: bad } = content;
      const bodies = [
        `{"model": "m/one", "messages": [{"role": "user", "content": "${bad}`,
        bad,
        `{"model": "m/one", "messages": [], "${bad}": tru${bad}}`,
        `"${bad}"`,
        `["${bad}"]`,
        `{"model": "m/one", "messages": "${bad}"}`,
        `{"model": "m/one", "messages": [{"role": "${bad}", "content": "${bad}"}]}`,
        `{"model": "m/one", "messages": [{"role": "user", "content": [{"type": "${bad}"}]}]}`,
        `{"model": "m/one", "messages": [{"role": "user", "content": "x"}], "temperature": "${bad}"}`,
        `{"model": "m/one", "messages": [{"role": "user", "content": "x"}], "tools": [{"type": "${bad}"}]}`,
        `{"model": "m/one", "messages": [{"role": "user", "content": "x"}], "alpha_parameters": "${bad}"}`,
        `{"model": "m/one", "messages": [{"role": "user", "content": "x"}], "provider": {"${bad}": 1}}`,
        `{"model": "m/one", "messages": [{"role": "user", "content": "x"}], "provider": {"only": ["${bad}!"]}}`,
        `{"model": "m/one", "messages": [{"role": "user", "content": "${bad}"}], "tools": [${'{"a":['.repeat(5000)}`,
        `{"model": "m/one", "messages": [{"role": "user", "content": "${bad} ${'x'.repeat(200_000)}"}]}`,
        `{"model": "${content.Model}", "messages": [{"role": "user", "content": "${bad}"}]}`,
      ];
      const refusals: Promise<Answer>[] = [];
      for (const credential of [key, { 'x-router-ticket': (await stage().buy({ model: 'm/one' })) ?? '' }]) {
        for (const raw of bodies)
          refusals.push(stage().keep(post(`${service.baseUrl}/chat/completions`, raw, credential)));
      }
      const strangers: readonly HeaderMap[] = [
        {},
        bearer(`sotto_inf_${bad}`),
        bearer(bad),
        bearer(account.managementKey),
        { authorization: `Basic ${bad}` },
        { 'x-router-ticket': `sotto_tkt_${bad}` },
        { 'x-router-ticket': bad },
      ];
      for (const stranger of strangers)
        refusals.push(stage().keep(post(`${service.baseUrl}/chat/completions`, fullBody(), stranger)));
      for (const flow of flows) {
        refusals.push(
          stage().keep(ask(service, pauper.inferenceKey, fullBody(), { flow })),
          stage().keep(ask(service, limited.inferenceKey, fullBody(), { flow })),
        );
      }
      refusals.push(
        stage().keep(post(`${service.baseUrl}/chat/completions?q=${content.QueryString}`, fullBody({ n: 2 }), key)),
        stage().keep(
          post(`${service.baseUrl}/chat/completions/${content.Path}?q=${content.QueryString}`, fullBody(), key),
        ),
        stage().keep(post(`${service.controlUrl}/${content.Path}?q=${content.QueryString}`, fullBody(), key)),
        stage().keep(post(`${service.controlUrl}/inference/tickets?q=${content.QueryString}`, fullBody(), key)),
        stage().keep(post(`${service.controlUrl}/inference/tickets`, `{"model": "${bad}`, key)),
        stage().keep(post(`${service.controlUrl}/chat/completions`, fullBody(), key)),
        stage().keep(
          post(`${service.baseUrl}/chat/completions`, fullBody({ n: 2 }), {
            ...key,
            'user-agent': content.UserAgent,
            'x-title': content.Header,
            'http-referer': content.Header,
            cookie: content.Header,
            'x-forwarded-for': content.Header,
          }),
        ),
        stage().keep(post(`${service.baseUrl}/embeddings`, { model: 'm/embed', input: { [bad]: bad } }, key)),
        stage().keep(post(`${service.baseUrl}/embeddings`, { model: 'm/one', input: bad }, key)),
        stage().keep(post(`${service.baseUrl}/images/generations`, { prompt: bad }, key)),
      );
      // Tickets for other requests, and one ticket used twice.
      const bought = async (request: object, body: object): Promise<Answer> =>
        stage().keep(
          post(`${service.baseUrl}/chat/completions`, body, { 'x-router-ticket': (await stage().buy(request)) ?? '' }),
        );
      refusals.push(
        bought({ model: 'm/one' }, fullBody()),
        bought({ model: 'm/two', reasoning_effort: 'low' }, fullBody()),
        bought({ model: 'm/two', provider: { only: ['alpha'] } }, fullBody()),
      );
      const twice = { 'x-router-ticket': (await stage().buy({ model: 'm/two' })) ?? '' };
      await stage().keep(post(`${service.baseUrl}/chat/completions`, fullBody(), twice));
      refusals.push(stage().keep(post(`${service.baseUrl}/chat/completions`, fullBody(), twice)));
      const seen = new Set((await Promise.all(refusals)).map((called) => `${called.status} ${called.error?.type}`));
      for (const kind of [
        '400 invalid_request',
        '401 invalid_api_key',
        '401 invalid_ticket',
        '401 ticket_required',
        '402 insufficient_balance',
        '403 insufficient_scope',
        '404 model_not_found',
        '409 ticket_model_mismatch',
        '409 ticket_reasoning_mismatch',
        '409 ticket_provider_policy_mismatch',
        '429 rate_limited',
      ]) {
        expect([...seen]).toContain(kind);
      }
      // An error's body does not even hold the parts that were not to be read.
      const { Prompt, System, ToolResult, User, Embedding } = content;
      const answers = stage()
        .answers.filter(({ status }) => status !== 200)
        .map(allOf);
      const quoted = found(answers.join('\n'), formsOf({ Prompt, System, ToolResult, User, Embedding }));
      expect(quoted).toEqual([]);
    });

    it('after bytes that are not HTTP', async () => {
      const { service } = stage();
      for (const url of [service.baseUrl, service.controlUrl]) {
        const port = Number(new URL(url).port);
        for (const bytes of [
          `GET /${content.Path} HTTP/1.1\r\nbad header ${content.Header}\r\n\r\n`,
          `${content.Path}\r\n\r\n`,
          `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 1${content.Header}\r\n\r\n`,
          `GET /v1/models HTTP/1.1\r\nhost: x\r\nx-long: ${content.Header.repeat(5000)}\r\n\r\n`,
          `GET http://${content.Path}/%zz?${content.QueryString} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
        ]) {
          await new Promise<void>((resolve) => {
            const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
            let text = '';
            socket.on('data', (piece) => {
              text += piece.toString();
            });
            socket.on('error', () => {});
            socket.once('close', () => {
              expect(found(text, { Header: [content.Header], Path: [content.Path] })).toEqual([]);
              resolve();
            });
          });
        }
      }
    });
  });
}
