import { expect, it } from 'vitest';
import { countTokens } from './count-tokens.ts';

const count = (more: object): number =>
  countTokens({ messages: [{ role: 'user', content: '12345678' }], ...more }).input_tokens;

it('counts 4 bytes as a token, 4 tokens for a message and 1,000 for an image', () => {
  expect(count({})).toBe(2 + 4);
  expect(count({ system: 'äöüß' })).toBe(2 + 4 + 2 + 4);
  const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
  expect(count({ messages: [{ role: 'user', content: [{ type: 'text', text: '1234' }, image] }] })).toBe(1 + 4 + 1000);
});

it('counts calls, results and the schemas of tools', () => {
  const input = { path: 'x'.repeat(400) };
  const messages = [
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'read', input }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'y'.repeat(400) }] },
  ];
  expect(count({ messages })).toBeGreaterThan(200);
  const tools = [{ name: 'read', description: 'z'.repeat(400), input_schema: { type: 'object' } }];
  expect(count({ tools }) - count({})).toBeGreaterThan(100);
});

it('refuses what is no request', () => {
  expect(() => countTokens([])).toThrow(expect.objectContaining({ type: 'invalid_request' }));
});
