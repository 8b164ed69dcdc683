import { beforeAll, describe, expect, it } from 'vitest';
import type { TestAccount } from '../../kit/service.ts';
import type { Suite } from '../../kit/stage/suites.ts';
import { costlyBodies } from './costly-bodies.ts';
import { expectAlive } from './origins.ts';

const mebibyte = 2 ** 20;
const capabilities = { tools: true, vision: true, structured_output: true };

/** Tests bodies that are expensive to validate. Each gets a clear error, and the broker survives. */
export const costlyBodiesSuite: Suite = {
  name: 'costly bodies',
  spec: {
    providers: { plain: {} },
    models: { judged: { routes: { plain: { pricing: [1, 2], capabilities, context_length: 1_000_000 } } } },
    copies: 1,
  },
  tests(stage) {
    let poor: TestAccount;
    let rich: TestAccount;
    let model: string;
    beforeAll(async () => {
      poor = await stage.service.createAccount({ usd: 0 });
      rich = await stage.service.createAccount();
      model = stage.model('judged');
    });

    const post = async (path: string, body: string, account = poor) => {
      const answer = await fetch(`${stage.service.baseUrl}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${account.inferenceKey}`, 'content-type': 'application/json' },
        body,
      });
      const { error } = (await answer.json()) as { error?: { type: string; param?: string; message: string } };
      return { status: answer.status, type: error?.type, param: error?.param, message: error?.message ?? '' };
    };
    const chat = (fields: string): string =>
      `{"model":"${model}","messages":[{"role":"user","content":"x"}],${fields}}`;

    describe.each(costlyBodies)('$name', ({ path, make }) => {
      it.each([100_000, 31 * mebibyte])('of %i bytes is a clear error, even without balance', async (bytes) => {
        const { status, type } = await post(path, make(model, bytes));
        // A valid body fails later: at the balance, the kind of the model, or its context window.
        expect([400, 402]).toContain(status);
        expect(type).toMatch(/^(?:invalid_request|invalid_provider_policy|insufficient_balance|context_too_large)$/);
      });
    });

    it.each(['tools', 'response_format'])(
      'thousands of references in %s get as far as the balance check',
      async (field) => {
        for (const count of [2_000, 3_000, 10_000]) {
          const links = Array.from({ length: count }, (_, at) => `"d${at + 1}":{"$ref":"#/$defs/d${at}"}`);
          const schema = `{"$defs":{${links.join(',')},"d0":{}},"$ref":"#/$defs/d${count}"}`;
          const asked =
            field === 'tools'
              ? `"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]`
              : `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":${schema}}}`;
          const { status, type } = await post('/chat/completions', chat(asked));
          expect([status, type]).toEqual([402, 'insufficient_balance']);
        }
      },
    );

    it.each([
      ['messages', '"messages":DEEP'],
      ['content', '"messages":[{"role":"user","content":DEEP}]'],
      ['a tool', '"tools":[{"type":"function","function":{"name":"f","parameters":{"a":DEEP}}}]'],
      ['a schema', '"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"a":DEEP}}}'],
      ['provider parameters', '"plain_parameters":{"a":DEEP}'],
      ['parameters of nobody', '"nobody_parameters":{"a":DEEP}'],
      ['the policy', '"provider":DEEP'],
      ['`stop`', '"stop":DEEP'],
      ['`tool_choice`', '"tool_choice":DEEP'],
      ['`models`', '"models":DEEP'],
      ['an unknown field', '"unknown":DEEP'],
    ])('a million brackets in %s are 400', async (_, field) => {
      for (const [open, close] of [
        ['[', ']'],
        ['{"a":', '}'],
      ] as const) {
        for (const deep of [`${open.repeat(1e6)}1${close.repeat(1e6)}`, open.repeat(1e6)]) {
          const { status, type } = await post('/chat/completions', chat(field.replace('DEEP', () => deep)));
          expect(status).toBe(400);
          expect(type).toBe('invalid_request');
        }
      }
    });

    it('a million brackets as input of embeddings are 400', async () => {
      const body = `{"model":"${model}","input":${'['.repeat(1e6)}${']'.repeat(1e6)}}`;
      expect(await post('/embeddings', body)).toMatchObject({ status: 400, type: 'invalid_request' });
    });

    it('tools and schemas have their own size limit', async () => {
      const long = 'x'.repeat(mebibyte);
      const tool = `"tools":[{"type":"function","function":{"name":"f","description":"${long}"}}]`;
      expect(await post('/chat/completions', chat(tool))).toMatchObject({
        status: 400,
        param: 'tools',
        message: expect.stringContaining('at most 1048576 are taken'),
      });
    });

    it.each([
      ['file:///etc/passwd', '`file:`'],
      ['http://169.254.169.254/latest/meta-data', '`http:`'],
      ['gopher://127.0.0.1:6379/_FLUSHALL', '`gopher:`'],
      ['data:text/html;base64,PGI+', '`data:`'],
    ])('an image at %s is 400 and is not forwarded', async (url, named) => {
      const content = JSON.stringify([{ type: 'image_url', image_url: { url } }]);
      const body = `{"model":"${model}","messages":[{"role":"user","content":${content}}]}`;
      const { status, param, message } = await post('/chat/completions', body, rich);
      expect([status, param]).toEqual([400, 'messages.0.content.0.image_url.url']);
      expect(message).toContain(named);
      expect(stage.provider('plain').seen).toEqual([]);
    });

    it('after all this a normal request is served, and no unexpected error was logged', async () => {
      await expectAlive(stage, rich, model);
      expect(stage.service.logs()).not.toMatch(/"status":500|unexpected/);
    });
  },
};
