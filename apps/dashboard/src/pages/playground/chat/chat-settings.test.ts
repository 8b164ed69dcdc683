import { chatRequestSchema, type ModelAnswer } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { chatBody, initialSettings, outputOf, problemsOf } from './chat-settings.ts';
import { messagesOf, type Turn, tokensPerSecond } from './conversation.ts';

const turn = (question: string, text: string): Turn => ({
  id: question,
  question,
  text,
  reasoning: '',
  state: 'done',
  facts: { way: 'private', askedModel: 'lab/a' },
});

describe('a chat request', () => {
  const messages = messagesOf('Be brief.', [turn('One?', '1'), turn('Lost?', '')], 'Two?', 'private');
  const asked = { model: 'a/b', messages, providers: ['acme/eu'], usualOutput: 2048 };

  it('sends again what brought an answer, and the instructions first', () => {
    expect(messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'One?' },
      { role: 'assistant', content: '1' },
      { role: 'user', content: 'Two?' },
    ]);
    expect(messagesOf(' ', [], 'Hi', 'private')).toEqual([{ role: 'user', content: 'Hi' }]);
  });

  it('does not repeat by a weaker way what went by a stronger one', () => {
    const by = (way: Turn['facts']['way'], question: string): Turn => ({
      ...turn(question, 'Yes.'),
      facts: { way, askedModel: 'lab/a' },
    });
    const turns = [by('e2ee', 'Sealed?'), by('private', 'Unlinked?'), by('compatibility', 'Open?')];
    const askedBy = (way: Turn['facts']['way']) =>
      messagesOf('', turns, 'Next?', way).flatMap(({ role, content }) => (role === 'user' ? [content] : []));
    expect(askedBy('e2ee')).toEqual(['Sealed?', 'Unlinked?', 'Open?', 'Next?']);
    expect(askedBy('private')).toEqual(['Unlinked?', 'Open?', 'Next?']);
    expect(askedBy('compatibility')).toEqual(['Open?', 'Next?']);
  });

  it('leaves out what nobody set, so that the workspace’s own sort counts', () => {
    expect(chatBody(initialSettings, { ...asked, efforts: ['low'] })).toEqual({
      model: 'a/b',
      messages,
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 2048,
    });
  });

  it('is one that the service takes, with what the model offers alone', () => {
    const settings = {
      ...initialSettings,
      temperature: '0.5',
      maxTokens: '20',
      effort: 'low',
      provider: 'acme/eu',
      minimumPrivacy: 'tee',
      sort: 'price',
    } as const;
    const expected = {
      temperature: 0.5,
      max_tokens: 20,
      provider: { only: ['acme/eu'], minimum_privacy: 'tee', sort: 'price' },
    };
    expect(chatRequestSchema.parse(chatBody(settings, { ...asked, efforts: ['low'] }))).toMatchObject({
      ...expected,
      reasoning_effort: 'low',
    });
    const other = chatBody({ ...settings, provider: 'beta' }, { ...asked, efforts: ['high'] });
    expect(other).not.toHaveProperty('reasoning_effort');
    expect(other).toMatchObject({ provider: { minimum_privacy: 'tee', sort: 'price' } });
    expect(other).not.toHaveProperty('provider.only');
  });

  it('asks for 2,048 output tokens, or for what the model can give', () => {
    const model = (own: number | null, ...routes: readonly (number | null)[]) =>
      ({ max_output_tokens: own, provider_routes: routes.map((most) => ({ max_output_tokens: most })) }) as ModelAnswer;
    expect(outputOf(undefined)).toBe(2048);
    expect(outputOf(model(32_000, null))).toBe(2048);
    expect(outputOf(model(1000, null))).toBe(1000);
    expect(outputOf(model(null, 500, 1500))).toBe(1500);
    expect(outputOf(model(null, null))).toBe(2048);
  });

  it('names what is no number of its kind', () => {
    expect(problemsOf({ ...initialSettings, temperature: '2.1', maxTokens: '1.5' })).toEqual({
      temperature: expect.any(String),
      maxTokens: expect.any(String),
    });
    expect(problemsOf({ ...initialSettings, temperature: '0', maxTokens: '1' })).toEqual({});
  });
});

it('speed counts from the first piece on, and is not told of too little', () => {
  const usage = { prompt_tokens: 1, completion_tokens: 100, total_tokens: 101, cost: 0 };
  expect(tokensPerSecond({ way: 'private', askedModel: 'lab/a', firstTokenMs: 500, totalMs: 2500, usage })).toBe(50);
  expect(
    tokensPerSecond({ way: 'private', askedModel: 'lab/a', firstTokenMs: 500, totalMs: 510, usage }),
  ).toBeUndefined();
  expect(tokensPerSecond({ way: 'private', askedModel: 'lab/a' })).toBeUndefined();
});
