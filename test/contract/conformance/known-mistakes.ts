import { describe, expect, it } from 'vitest';
import { ask, bearer, hello } from '../../kit/client.ts';
import type { Concept } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';
import { answerTo, errorIn } from '../../kit/raw-http.ts';
import { get, post } from '../../kit/send.ts';

const model = 'acme/small';

/** Tests for mistakes that other gateways have published advisories about. */
export const knownMistakes: Concept = (suite) => {
  const origins = [
    ['control', () => `${suite.service.controlUrl}/models`],
    ['confidential', () => `${suite.service.baseUrl}/models`],
  ] as const;

  describe.each(origins)('a credential to the %s origin', (_, url) => {
    it.each([
      "' OR '1'='1",
      "' OR '1'='1' --",
      "x'; drop table api_keys; --",
      "sotto_inf_' OR kind='inference' --",
      "sotto_mgt_'||(select pg_sleep(5))||'",
      'sotto_inf_%',
      'sotto_inf_\\x00',
      '$1',
    ])('is data and never a part of a query: %s', async (secret) => {
      expectError(await get(url(), bearer(secret)), 401, 'invalid_api_key');
      expect((await get(url(), bearer(suite.account.inferenceKey))).status).toBe(200);
    });

    it('is known by the whole of it, also after the service has seen it', async () => {
      const { inferenceKey: key } = suite.account;
      for (let times = 0; times < 2; times += 1) expect((await get(url(), bearer(key))).status).toBe(200);
      const middle = Math.floor(key.length / 2);
      const other = (character: string | undefined): string => (character === 'A' ? 'B' : 'A');
      for (const near of [
        key.slice(0, -1),
        `${key}A`,
        `${key.slice(0, -8)}AAAAAAAA`,
        key.slice(0, middle) + other(key[middle]) + key.slice(middle + 1),
        `sotto_inf_${other(key[10])}${key.slice(11)}`,
        key.slice(0, 20),
        key.toUpperCase(),
        `${key},${key}`,
      ])
        expectError(await get(url(), bearer(near)), 401, 'invalid_api_key');
    });
  });

  it.each(['localhost', '127.0.0.1', '[::1]', 'metrics', 'admin.internal', 'sotto-control:4000', 'control.example@x'])(
    'the header `host: %s` changes neither the route nor who may use it',
    async (host) => {
      const answers = [
        ['GET', suite.service.controlUrl, '/v1/operator/accounts', 401],
        ['GET', suite.service.controlUrl, '/v1/keys', 401],
        ['GET', suite.service.controlUrl, '/metrics', 404],
        ['GET', suite.service.baseUrl, '/v1/models', 404],
        ['GET', suite.service.baseUrl, '/metrics', 404],
      ] as const;
      for (const [method, base, path, status] of answers) {
        for (const target of [path, `http://${host.replace('@', '')}${path}`]) {
          const forwarded = `x-forwarded-host: ${host}\r\nx-original-url: /healthz\r\nx-rewrite-url: /healthz\r\n`;
          const head = `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\naccept: application/json\r\n${forwarded}\r\n`;
          const answer = await answerTo(new URL(base).origin, head);
          // The broker without TLS also refuses names that are not of this machine.
          expect([path, [status, 403, 421].includes(answer.status)]).toEqual([path, true]);
          errorIn(answer);
        }
      }
    },
  );

  it('a command in a request is a field that nobody knows, on every route that tests something', async () => {
    const command = { command: 'touch', args: ['/tmp/x'], cmd: 'id', exec: 'id', env: { PATH: '/' } };
    for (const path of ['/inference/tickets', '/inference/attestation-tickets'])
      expectError(
        await post(`${suite.service.controlUrl}${path}`, { model, ...command }, bearer(suite.account.inferenceKey)),
        400,
        'invalid_request',
      );
    for (const path of ['/test', '/mcp/test', '/mcp/test/connection', '/health/test_connection', '/config/test']) {
      for (const base of [suite.service.controlUrl, suite.service.baseUrl])
        expectError(await post(`${base}${path}`, command, bearer(suite.account.inferenceKey)), 404, 'not_found');
    }
  });

  describe('names that differ only by case', () => {
    const shouted = { MODEL: 'other/large', Model: 'other/large', Messages: [{ role: 'user', content: 'other' }] };

    it('are unknown fields to control, which refuses them', async () => {
      for (const more of [{ Model: 'x' }, { PROVIDER: 'other' }, { Count: 16 }]) {
        const body = { model, ...more };
        const answer = await post(
          `${suite.service.controlUrl}/inference/tickets`,
          body,
          bearer(suite.account.inferenceKey),
        );
        expectError(answer, 400, 'invalid_request');
      }
    });

    it('are dropped by the broker: the provider gets only what was checked', async () => {
      const body = { model, max_tokens: 20, ...shouted, Max_Tokens: 9999, Stream: true, PROVIDER: { only: ['x'] } };
      const answer = await ask(suite.service, suite.account.inferenceKey, body);
      expect(answer.status, answer.text).toBe(200);
      const { body: seen } = suite.lastSeen();
      expect(seen).toMatchObject({ messages: hello });
      expect(Object.keys(seen as object).filter((name) => name !== name.toLowerCase())).toEqual([]);
      expect(JSON.stringify(seen)).not.toMatch(/other|9999/);
    });

    it('and a name that is sent twice has one value, for the check and for the provider', async () => {
      const text = `{"model":"${model}","max_tokens":9999999999,"max_tokens":20,"messages":[],"messages":${JSON.stringify(hello)}}`;
      const answer = await post(`${suite.service.baseUrl}/chat/completions`, text, bearer(suite.account.inferenceKey));
      expect(answer.status, answer.text).toBe(200);
      expect(suite.lastSeen().body).toMatchObject({ messages: hello });
      expect(JSON.stringify(suite.lastSeen().body)).not.toContain('9999');
    });
  });
};
