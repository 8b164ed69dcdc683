import type { JsonObject } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { isOnlyShown } from './shown-fields.ts';

const call = { tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'run', arguments: '{}' } }] };

describe('what is only shown', () => {
  it.each<[string, JsonObject]>([
    ['text', { choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: null }] }],
    ['an answer without calls', { choices: [{ index: 0, message: { content: 'Hi', tool_calls: [] } }] }],
    ['a chunk with usage alone', { choices: [], usage: { total_tokens: 1 } }],
    ['a chunk without choices', { id: 'x', choices: null }],
  ])('is %s', (_, answer) => {
    expect(isOnlyShown(answer)).toBe(true);
  });

  // Some readers take an object, a nested list or a text for what they expect. Each would find the call.
  it.each<[string, JsonObject]>([
    ['choices as an object', { choices: { 0: { index: 0, delta: call } } }],
    ['choices as a text', { choices: JSON.stringify([{ delta: call }]) }],
    ['a choice as a list', { choices: [[{ index: 0, delta: call }]] }],
    ['a delta as a list', { choices: [{ index: 0, delta: [call] }] }],
    ['a delta as a text', { choices: [{ index: 0, delta: JSON.stringify(call) }] }],
    ['content as a list', { choices: [{ index: 0, delta: { content: [{ type: 'tool_use', name: 'run' }] } }] }],
    ['content as an object', { choices: [{ index: 0, delta: { content: call } }] }],
    ['a call in the delta', { choices: [{ index: 0, delta: call }] }],
    ['a call under another case', { choices: [{ index: 0, Delta: call }] }],
    ['calls as an object', { choices: [{ index: 0, delta: { tool_calls: { 0: call.tool_calls[0] } } }] }],
    ['an end that is no text', { choices: [{ index: 0, delta: {}, finish_reason: ['stop'] }] }],
  ])('is not %s', (_, answer) => {
    expect(isOnlyShown(answer)).toBe(false);
  });
});
