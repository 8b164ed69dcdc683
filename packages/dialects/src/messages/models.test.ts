import { expect, it } from 'vitest';
import { messagesModels } from './models.ts';

const limits = { contextLength: undefined, maxOutputTokens: undefined };

it('lists the catalog in Anthropic’s shape, under ids that Claude Code shows', () => {
  expect(
    messagesModels([
      { id: 'openai/gpt-5', name: 'GPT-5', created: 1_750_000_000, contextLength: 400_000, maxOutputTokens: 128_000 },
      { id: 'anthropic/claude-opus-4.6', name: 'Opus', created: 0, ...limits },
    ]),
  ).toEqual({
    data: [
      {
        type: 'model',
        id: 'anthropic/openai/gpt-5',
        display_name: 'GPT-5',
        created_at: '2025-06-15T15:06:40.000Z',
        max_input_tokens: 400_000,
        max_tokens: 128_000,
      },
      { type: 'model', id: 'anthropic/claude-opus-4.6', display_name: 'Opus', created_at: '1970-01-01T00:00:00.000Z' },
    ],
    has_more: false,
    first_id: 'anthropic/openai/gpt-5',
    last_id: 'anthropic/claude-opus-4.6',
  });
  expect(messagesModels([])).toEqual({ data: [], has_more: false, first_id: null, last_id: null });
});
