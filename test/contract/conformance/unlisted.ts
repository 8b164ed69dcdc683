import { uptimeAnswerSchema } from '@sotto/contract/control/catalog';
import { usagePageSchema } from '@sotto/contract/control/usage';
import { modelListAnswerSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { type Answer, allOf } from '../../kit/answer.ts';
import { ask, bearer, flows } from '../../kit/client.ts';
import { type Concept, hiddenMarks } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';
import { answerError } from '../../kit/provider.ts';
import { get, post } from '../../kit/send.ts';

/** Tests that an unlisted provider appears as `other` everywhere. */
export const unlisted: Concept = (suite) => {
  const key = (): string => suite.account.inferenceKey;
  const expectHidden = (answer: Answer): void => {
    for (const mark of hiddenMarks) expect(allOf(answer)).not.toContain(mark);
  };

  describe.each(flows)('an unlisted provider, %s flow', (flow) => {
    it.each([false, true])('it is `other` in its answers (stream: %s)', async (stream) => {
      const answer = await ask(
        suite.service,
        key(),
        { model: 'shadow/only', stream, stream_options: { include_usage: true } },
        { flow },
      );
      expect(answer.status, answer.text).toBe(200);
      expect(suite.provider('hiddenco').seen).toHaveLength(1);
      expect(answer.headers.get('x-router-provider')).toBe('other');
      expect(answer.headers.get('x-router-selected-model')).toBe('other/shadow/only');
      expectHidden(answer);
    });

    it('`other` works as a pin, and in order, only and ignore', async () => {
      for (const [provider, served] of [
        ['other', 'other'],
        [{ order: ['other'] }, 'other'],
        [{ order: ['acme', 'other'] }, 'acme'],
        [{ only: ['other'] }, 'other'],
        [{ ignore: ['other'] }, 'acme'],
      ] as const) {
        const answer = await ask(suite.service, key(), { model: 'shadow/mixed', provider }, { flow });
        expect(answer.status, answer.text).toBe(200);
        expect(answer.headers.get('x-router-provider')).toBe(served);
      }
      const answer = await ask(suite.service, key(), { model: 'acme/small', provider: 'other' }, { flow });
      expectError(answer, 400, 'no_provider_route');
    });

    it('its own id matches nothing', async () => {
      for (const provider of ['hiddenco', { only: ['hiddenco'] }]) {
        const answer = await ask(suite.service, key(), { model: 'shadow/mixed', provider }, { flow });
        expectError(answer, 400, 'no_provider_route');
      }
      const ignored = await ask(
        suite.service,
        key(),
        { model: 'shadow/only', provider: { ignore: ['hiddenco'] } },
        { flow },
      );
      expect(ignored.headers.get('x-router-provider'), ignored.text).toBe('other');
    });

    it('parameters under its own id are ignored like those of an unknown provider', async () => {
      for (const name of ['hiddenco', 'nobody']) {
        const parameters = { [`${name}_parameters`]: { bad_words: ['KNOB'] } };
        const answer = await ask(suite.service, key(), { model: 'shadow/only', ...parameters }, { flow });
        expect(answer.status, answer.text).toBe(200);
        expect(suite.provider('hiddenco').seen.at(-1)?.text.includes('KNOB')).toBe(false);
      }
    });

    // The list has one name from each API, and one from none. Different answers would reveal which API the provider
    // speaks.
    it.each(['bad_words', 'verbosity', 'top_k', 'safetySettings', 'generationConfig', 'special_knob'])(
      '`other` rejects every parameter, so that the answer does not reveal its API: %s',
      async (name) => {
        const asked = { model: 'shadow/only', other_parameters: { [name]: { seed: 1 } } };
        const answer = await ask(suite.service, key(), asked, { flow });
        expectError(answer, 400, 'invalid_request', `other_parameters.${name}`);
        expect(answer.text).toContain(`\`other_parameters.${name}\` is not taken. Leave it out.`);
        expect(suite.provider('hiddenco').seen).toEqual([]);
      },
    );

    it('`strip_thinking_response` for `other` is accepted', async () => {
      const asked = { model: 'shadow/only', other_parameters: { strip_thinking_response: true } };
      expect((await ask(suite.service, key(), asked, { flow })).status).toBe(200);
    });

    it('its failures do not name it', async () => {
      for (const status of [400, 401, 429, 500]) {
        suite.provider('hiddenco').answer(answerError(status, { message: 'Hidden Company: hush-v1 failed' }));
        const answer = await ask(suite.service, key(), { model: 'shadow/only' }, { flow });
        expect(answer.status).toBeGreaterThanOrEqual(400);
        expectHidden(answer);
      }
    });
  });

  describe('an unlisted provider in lists', () => {
    it('it is `other` in catalog, models and uptime', async () => {
      const { controlUrl, baseUrl } = suite.service;
      const models = [await get(`${controlUrl}/models`, bearer(key())), await get(`${baseUrl}/models`, bearer(key()))];
      for (const answer of models) {
        expectHidden(answer);
        const entry = modelListAnswerSchema.parse(answer.json).data.find(({ id }) => id === 'shadow/only');
        expect(entry).toMatchObject({ auto_provider: 'other', provider_routes: [{ provider: 'other' }] });
      }
      const catalog = await get(`${controlUrl}/catalog/models`);
      expect(catalog.text).toContain('shadow/only');
      expectHidden(catalog);
      const uptime = await get(`${controlUrl}/models/uptime?model=shadow/only`);
      expect(uptimeAnswerSchema.parse(uptime.json).routes.map(({ provider }) => provider)).toEqual(['other']);
      expectHidden(uptime);
    });

    it('it is `other` in tickets, usage and errors', async () => {
      const { service } = suite;
      const own = suite.spareAccount();
      expect((await ask(service, own.inferenceKey, { model: 'shadow/only' })).status).toBe(200);
      await service.settled(own);
      const usage = await get(`${service.controlUrl}/usage`, bearer(own.managementKey));
      expect(usagePageSchema.parse(usage.json).data.map(({ provider }) => provider)).toEqual(['other']);
      expectHidden(usage);
      const policies = ['acme', { max_price: { input: 0 } }, { minimum_privacy: 'tee' }, { ignore: ['other'] }];
      for (const provider of policies) {
        const refused = await post(
          `${service.controlUrl}/inference/tickets`,
          { model: 'shadow/only', provider },
          bearer(own.inferenceKey),
        );
        expect(refused.status).not.toBe(200);
        expectHidden(refused);
        expectHidden(await ask(service, own.inferenceKey, { model: 'shadow/only', provider }));
      }
    });
  });
};
