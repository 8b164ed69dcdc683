import { chatCompletionSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { readStream } from '../../kit/answer.ts';
import { ask, bearer, flows, redeem } from '../../kit/client.ts';
import type { Concept } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';
import { sendJson } from '../../kit/provider.ts';
import * as sse from '../../kit/scenes/events.ts';
import { post } from '../../kit/send.ts';

const model = 'acme/thinker';
const thought = 'THE-THOUGHT';

/** Tests how a request configures reasoning and hides its trace, and how it sets provider-specific parameters. */
export const reasoning: Concept = (suite) => {
  const key = (): string => suite.account.inferenceKey;

  /** Makes the provider answer with a reasoning trace, whole or streamed. */
  const think = () =>
    suite.provider('acme').answer((request, response) => {
      const usage = {
        prompt_tokens: 5,
        completion_tokens: 9,
        total_tokens: 14,
        completion_tokens_details: { reasoning_tokens: 4 },
      };
      if (request.body.stream !== true) {
        const message = { role: 'assistant', content: 'It is 4.', reasoning_content: thought };
        const choices = [{ index: 0, message, finish_reason: 'stop' }];
        return sendJson(response, 200, { ...sse.envelope, object: 'chat.completion', choices, usage });
      }
      const streamed = sse.stream(
        sse.role,
        sse.frame(sse.chunk({ reasoning_content: thought })),
        sse.text('It is 4.'),
        sse.finish,
        sse.frame(JSON.stringify({ ...sse.envelope, choices: [], usage })) + sse.done,
      );
      return streamed(request, response);
    });

  const effortSeen = (): unknown => {
    const { reasoning_effort, reasoning } = suite.lastSeen().body;
    return reasoning_effort ?? (reasoning as { effort?: unknown } | undefined)?.effort;
  };

  describe.each(flows)('reasoning, %s flow', (flow) => {
    const askFor = (body: object) => ask(suite.service, key(), { model, ...body }, { flow });

    it.each([
      ['reasoning_effort', { reasoning_effort: 'high' }],
      ['reasoning.effort', { reasoning: { effort: 'high' } }],
      ['both with one effort', { reasoning_effort: 'high', reasoning: { effort: 'high' } }],
    ])('%s reaches the provider', async (_, body) => {
      const answer = await askFor(body);
      expect(answer.status, answer.text).toBe(200);
      expect(effortSeen()).toBe('high');
    });

    it('both fields with different efforts are 400', async () => {
      expectError(await askFor({ reasoning_effort: 'low', reasoning: { effort: 'high' } }), 400, 'invalid_request');
      expect(suite.asked).toBe(0);
    });

    it('reasoning.enabled = false is accepted if the model works without reasoning', async () => {
      const answer = await askFor({ reasoning: { enabled: false } });
      expect(answer.status, answer.text).toBe(200);
      expect(effortSeen()).not.toBe('high');
    });

    it.each([
      ['off, with an effort', { reasoning: { enabled: false, effort: 'low' } }],
      ['off, with an effort beside it', { reasoning_effort: 'low', reasoning: { enabled: false } }],
      ['on, with the effort none', { reasoning_effort: 'none', reasoning: { enabled: true } }],
    ])('contradictory reasoning settings are 400: %s', async (_, body) => {
      expectError(await askFor(body), 400, 'invalid_request', 'reasoning.enabled');
      expect(suite.asked).toBe(0);
    });

    it.each([
      ['reasoning.max_tokens', { reasoning: { max_tokens: 100 } }, 'reasoning.max_tokens'],
      ['reasoning.exclude', { reasoning: { exclude: true } }, 'reasoning.exclude'],
    ])('%s is rejected', async (_, body, param) => {
      expectError(await askFor(body), 400, 'invalid_request', param);
      expect(suite.asked).toBe(0);
    });

    it('require_parameters skips routes that cannot reason', async () => {
      const asked = { model: 'acme/plain', reasoning_effort: 'low', provider: { require_parameters: true } };
      expectError(await askFor(asked), 400, 'no_provider_route');
    });

    it('the trace is shown, whole and streamed, unless the request hides it', async () => {
      think();
      const whole = chatCompletionSchema.parse((await askFor({})).json);
      expect(whole.choices[0]?.message).toMatchObject({ content: 'It is 4.', reasoning: thought });
      const { chunks, content } = readStream(await askFor({ stream: true }));
      expect(content).toBe('It is 4.');
      expect(chunks.map(({ choices }) => choices[0]?.delta.reasoning ?? '').join('')).toBe(thought);
    });

    it.each(['acme_parameters', 'beta_parameters'])(
      'strip_thinking_response in %s hides the trace, whichever provider serves',
      async (name) => {
        think();
        const hidden = { [name]: { strip_thinking_response: true } };
        const whole = await askFor(hidden);
        expect(chatCompletionSchema.parse(whole.json).choices[0]?.message.content).toBe('It is 4.');
        expect(whole.text).not.toContain(thought);
        // The provider produced the hidden trace, so the client pays for it.
        expect(whole.json).toMatchObject({ usage: { completion_tokens: 9 } });
        const streamed = await askFor({ ...hidden, stream: true });
        expect(readStream(streamed)).toMatchObject({ content: 'It is 4.', done: true });
        expect(streamed.text).not.toContain(thought);
      },
    );

    it('strip_thinking_response = false keeps the trace', async () => {
      think();
      expect((await askFor({ acme_parameters: { strip_thinking_response: false } })).text).toContain(thought);
    });
  });

  describe('provider-specific parameters', () => {
    it('reach that provider only', async () => {
      const asked = { acme_parameters: { bad_words: ['KNOB'] } };
      const atAcme = await ask(suite.service, key(), { model: 'acme/wide', provider: 'acme', ...asked });
      expect(atAcme.status, atAcme.text).toBe(200);
      expect(suite.lastSeen('acme').text).toContain('KNOB');
      const atVault = await ask(suite.service, key(), { model: 'acme/wide', provider: 'vault', ...asked });
      expect(atVault.status, atVault.text).toBe(200);
      expect(suite.lastSeen('vault').text).not.toContain('KNOB');
    });

    it.each([
      ['model', 'other-v1'],
      ['messages', [{ role: 'system', content: 'x' }]],
      ['max_tokens', 999_999],
      ['max_completion_tokens', 999_999],
      ['n', 7],
      ['stream', true],
      ['stream_options', { include_usage: false }],
      ['tools', [{ type: 'function', function: { name: 'f' } }]],
      ['store', true],
      ['metadata', { a: '1' }],
      ['user', 'x'],
      ['special_knob', 1],
    ])('%s is 400: provider parameters cannot replace a validated field', async (name, value) => {
      const answer = await ask(suite.service, key(), { model, acme_parameters: { [name]: value } });
      expectError(answer, 400, 'invalid_request', `acme_parameters.${name}`);
      expect(answer.text).toContain('This provider takes');
      expect(suite.asked).toBe(0);
    });

    it('parameters that are not an object are 400', async () => {
      expectError(await ask(suite.service, key(), { model, acme_parameters: 'x' }), 400, 'invalid_request');
      const answer = await ask(suite.service, key(), { model, acme_parameters: { strip_thinking_response: 'yes' } });
      expectError(answer, 400, 'invalid_request');
    });
  });

  describe('reasoning and its ticket', () => {
    const present = async (bound: object, body: object) => {
      const { ticket } = await suite.service.mintTicket(key(), { model, ...bound });
      return redeem(suite.service, ticket, { model, ...body });
    };

    it.each([
      ['the field', { reasoning_effort: 'low' }, { reasoning: { effort: 'low' } }],
      ['the object', { reasoning: { effort: 'low' } }, { reasoning_effort: 'low' }],
    ])('a ticket with %s is valid for a body with the other', async (_, bound, body) => {
      const answer = await present(bound, body);
      expect(answer.status, answer.text).toBe(200);
      expect(effortSeen()).toBe('low');
    });

    const off = { reasoning: { enabled: false } };
    it.each([
      ['switched off, and none', off, { reasoning_effort: 'none' }],
      ['none, and switched off', { reasoning: { effort: 'none' } }, off],
      [
        'an effort, and the same switched on',
        { reasoning_effort: 'low' },
        { reasoning: { effort: 'low', enabled: true } },
      ],
    ])('a ticket and a body can express the same reasoning in two ways: %s', async (_, bound, body) => {
      const answer = await present(bound, body);
      expect(answer.status, answer.text).toBe(200);
    });

    it.each([
      ['another effort', { reasoning_effort: 'low' }, { reasoning_effort: 'high' }],
      ['none where the ticket has one', { reasoning_effort: 'low' }, {}],
      ['one where the ticket has none', {}, { reasoning: { effort: 'low' } }],
      ['thinking where the ticket has none of it', { reasoning: { enabled: false } }, {}],
    ])('%s is 409 ticket_reasoning_mismatch', async (_, bound, body) => {
      expectError(await present(bound, body), 409, 'ticket_reasoning_mismatch');
      expect(suite.asked).toBe(0);
    });

    it('a ticket request rejects the reasoning settings that a body rejects', async () => {
      for (const bound of [
        { reasoning: { max_tokens: 5 } },
        { reasoning: { exclude: true } },
        { reasoning_effort: 'low', reasoning: { effort: 'high' } },
        { reasoning_effort: 5 },
      ]) {
        const answer = await post(
          `${suite.service.controlUrl}/inference/tickets`,
          { model, ...bound },
          bearer(suite.account.inferenceKey),
        );
        expectError(answer, 400, 'invalid_request');
      }
    });
  });
};
