import { describe, expect, it } from 'vitest';
import { chat, target } from '../testing/fixtures.ts';
import { messagesRequest } from './messages-request.ts';

const tools = [{ type: 'function', function: { name: 'f' } }];
const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };

function sent(model: string, reasoning: Parameters<typeof target>[0] = {}, body: object = {}): Record<string, unknown> {
  const request = messagesRequest(chat(body), target({ upstreamModel: model, maxOutputTokens: 10_000, ...reasoning }));
  if ('unsupported' in request) throw new Error(request.unsupported);
  return JSON.parse(request.body);
}

const older = [
  'claude-3-7-sonnet-20250219',
  'claude-sonnet-4-20250514',
  'claude-opus-4-1',
  'claude-sonnet-4-5-20250929',
  'claude-haiku-4-5',
];
const middle = ['claude-opus-4-6', 'claude-sonnet-4-6'];
const newer = [
  'claude-opus-4-7',
  'claude-opus-4-8',
  'claude-opus-5',
  'claude-sonnet-5',
  'claude-fable-5',
  'claude-something-9',
];

describe('thinking of Claude', () => {
  it.each(older)('%s: an effort becomes a budget within the output limit, which is not raised', (model) => {
    for (const [effort, budget] of [
      ['minimal', 1024],
      ['low', 2000],
      ['medium', 5000],
      ['high', 8000],
      ['max', 9500],
    ] as const) {
      const { thinking, max_tokens, output_config } = sent(model, { reasoning: { effort } });
      expect({ thinking, max_tokens, output_config }).toEqual({
        thinking: { type: 'enabled', budget_tokens: budget },
        max_tokens: 10_000,
      });
    }
    expect(sent(model, { reasoning: { effort: undefined } }).thinking).toEqual({
      type: 'enabled',
      budget_tokens: 5000,
    });
  });

  it.each([...middle, ...newer])('%s: an effort is passed on as an effort', (model) => {
    const { thinking, output_config } = sent(model, { reasoning: { effort: 'minimal' } });
    expect({ thinking, output_config }).toEqual({
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: 'low' },
    });
    expect(sent(model, { reasoning: { effort: 'xhigh' } }).output_config).toEqual({ effort: 'xhigh' });
    expect(sent(model, { reasoning: { effort: undefined } })).not.toHaveProperty('output_config');
  });

  it.each([...older, ...middle, ...newer])(
    '%s: is switched off on request, and otherwise left to the model',
    (model) => {
      expect(sent(model, { reasoning: 'off' }).thinking).toEqual({ type: 'disabled' });
      expect(sent(model)).not.toHaveProperty('thinking');
    },
  );

  it('is omitted if the output limit leaves no room for it', () => {
    expect(sent('claude-sonnet-4-5', { reasoning: { effort: 'low' }, maxOutputTokens: 1024 })).not.toHaveProperty(
      'thinking',
    );
    expect(sent('claude-sonnet-4-5', { reasoning: { effort: 'low' }, maxOutputTokens: 1025 }).thinking).toEqual({
      type: 'enabled',
      budget_tokens: 1024,
    });
  });

  it.each(['required', { type: 'function', function: { name: 'f' } }])(
    'is omitted if a tool is forced: %j',
    (tool_choice) => {
      const body = { tools, tool_choice };
      expect(sent('claude-sonnet-4-5', { reasoning: { effort: 'low' } }, body)).not.toHaveProperty('thinking');
      const later = sent('claude-opus-5', { reasoning: { effort: 'low' } }, body);
      expect(later).not.toHaveProperty('thinking');
      expect(later.output_config).toEqual({ effort: 'low' });
      expect(sent('claude-opus-5', { reasoning: { effort: 'low' } }, { tools, tool_choice: 'auto' })).toHaveProperty(
        'thinking',
      );
    },
  );

  it('with a budget does not begin inside a tool loop whose thoughts are lost', () => {
    const loop = (assistant: object) => ({
      tools,
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', tool_calls: [call], ...assistant },
        { role: 'tool', tool_call_id: 'c', content: 'r' },
      ],
    });
    const details = [{ type: 'reasoning.text', text: 'hm', signature: 's', format: 'anthropic-claude-v1', index: 0 }];
    const reasoning = { effort: 'low' };
    expect(sent('claude-sonnet-4-5', { reasoning }, loop({}))).not.toHaveProperty('thinking');
    const unsigned = loop({ reasoning_details: [{ ...details[0], signature: undefined }] });
    expect(sent('claude-sonnet-4-5', { reasoning }, unsigned)).not.toHaveProperty('thinking');
    const kept = sent('claude-sonnet-4-5', { reasoning }, loop({ reasoning_details: details }));
    expect(kept).toHaveProperty('thinking');
    expect(kept.messages).toMatchObject([
      {},
      { content: [{ type: 'thinking', thinking: 'hm', signature: 's' }, { type: 'tool_use' }] },
      {},
    ]);
    expect(sent('claude-opus-5', { reasoning }, loop({}))).toHaveProperty('thinking');
  });
});

describe('sampling of Claude', () => {
  const body = { temperature: 1.7, top_p: 0.5 };

  it('is a limited temperature or top_p, if the model accepts either', () => {
    for (const model of [...older, ...middle]) {
      expect(sent(model, {}, body)).toMatchObject({ temperature: 1 });
      expect(sent(model, {}, body)).not.toHaveProperty('top_p');
      expect(sent(model, {}, { top_p: 0.5 })).toMatchObject({ top_p: 0.5 });
    }
    for (const model of newer) {
      expect(sent(model, {}, body)).not.toHaveProperty('temperature');
      expect(sent(model, {}, body)).not.toHaveProperty('top_p');
    }
  });

  it('is omitted if the model thinks', () => {
    const thinking = sent('claude-sonnet-4-5', { reasoning: { effort: 'low' } }, body);
    expect(thinking).not.toHaveProperty('temperature');
    expect(sent('claude-sonnet-4-5', { reasoning: 'off' }, body)).toMatchObject({ temperature: 1 });
  });
});
