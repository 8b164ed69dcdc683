import { existsSync } from 'node:fs';
import { target } from '@sotto/providers/testing';
import { describe, expect, it } from 'vitest';
import { type AdapterName, adapters, type DialectName } from '../dialects/pipeline.ts';
import { kinds } from './request-kinds.ts';

const upstreamModels = {
  openai: 'm',
  anthropic: 'claude-sonnet-4-5',
  google: 'gemini-3',
  bedrock: 'anthropic.claude-sonnet-4-5',
};

describe.each(Object.entries(kinds))('%s', (_, { asked, sent, dialect = {} }) => {
  const cells = (Object.keys(sent) as AdapterName[]).flatMap((api) =>
    (Object.keys(asked) as DialectName[]).flatMap((name) => {
      const [request, check] = [asked[name], sent[api]];
      if (!('cannot' in request || 'cannot' in check)) return [{ name, api, request, check }];
      for (const cell of [request, check]) if ('cannot' in cell) expect(cell.cannot).toMatch(/\w{3}/);
      return [];
    }),
  );
  it.each(cells)('is sent right by $api, from the dialect $name', ({ api, request, check }) => {
    const to = target({ upstreamModel: upstreamModels[api] });
    const built = adapters[api].chatRequest(request(), { ...to, dialect: { ...to.dialect, ...dialect } });
    if ('unsupported' in built) check({ ...built }, '');
    else check(JSON.parse(built.body), built.body);
  });
});

/** Kinds that no body and no answer shows, with the test that proves each. */
const elsewhere = {
  'tools that OpenAI’s newest models refuse beside reasoning':
    'packages/router/src/parameters/route-parameters.test.ts',
  'a later usage without its details, in every adapter': 'packages/providers/src/translate/merge-usage.test.ts',
  'usage of zeros, or without output': 'packages/providers/src/openai/usage.test.ts',
  'minutes of silence, before and after the headers': 'test/routing/silence.test.ts',
  'a body that a tool compressed': 'test/contract/own-client/proxy-dialects.test.ts',
  'arguments that no JSON object holds, in the Messages API': 'packages/dialects/src/messages/write-message.test.ts',
};
it.each(Object.entries(elsewhere))('%s: there is a test', (_, file) => {
  expect(existsSync(new URL(`../../../${file}`, import.meta.url))).toBe(true);
});
