import { expect, it } from 'vitest';
import { chat, target } from '../testing/fixtures.ts';
import { converseRequest } from './converse-request.ts';

const cached = { type: 'text', text: 'x', cache_control: { type: 'ephemeral' } };
const request = chat({
  messages: [
    { role: 'system', content: [cached] },
    { role: 'user', content: [cached] },
  ],
  tools: [{ type: 'function', function: { name: 'f' }, cache_control: { type: 'ephemeral' } }],
});

it.each([
  ['anthropic.claude-haiku-4-5-20251001-v1:0', 3],
  ['us.amazon.nova-lite-v1:0', 3],
  ['meta.llama3-3-70b-instruct-v1:0', 0],
])('%s gets %i cache points: a model without a cache would refuse them', (upstreamModel, points) => {
  const asked = converseRequest(request, target({ upstreamModel }));
  if ('unsupported' in asked) throw new Error(asked.unsupported);
  expect(asked.body.split('cachePoint').length - 1).toBe(points);
});
