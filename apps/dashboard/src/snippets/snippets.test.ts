import { describe, expect, it } from 'vitest';
import { makeSnippets } from './snippets.ts';

const facts = {
  controlOrigin: 'https://control.example.com',
  confidentialOrigin: 'https://api.example.com',
  key: 'sotto_inf_KEY',
  model: 'acme/small',
};
const here = { ...facts, controlOrigin: 'http://127.0.0.1:4000', confidentialOrigin: 'http://127.0.0.1:4001' };

it('says beside the command of each agent how to end warm caches, limit a run and get its bill', () => {
  const texts = makeSnippets(facts).flatMap(({ text, code }) => (code.includes('sotto run ') ? [text] : []));
  expect(texts.length).toBeGreaterThan(5);
  for (const text of texts)
    for (const option of ['--warm-caches off', '--max-cost', '--bill']) expect(text).toContain(option);
});

describe.each(makeSnippets(facts))('the snippet for $name', ({ code }) => {
  it('names the confidential origin, the key and the model', () => {
    for (const needed of [facts.confidentialOrigin, facts.key, facts.model]) expect(code).toContain(needed);
  });

  it('sends the key only to the control origin if it names that', () => {
    if (!code.includes(facts.controlOrigin)) return;
    const lines = code.split('\n').filter((line) => line.includes(facts.confidentialOrigin));
    expect(lines.filter((line) => line.includes(facts.key))).toEqual([]);
  });
});

it('has one snippet for each id', () => {
  const ids = makeSnippets(facts).map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

it.each([
  ['claude', 'npm run -s sotto -- run claude --model acme/small --allow-simulated'],
  ['client', 'allowSimulated: true'],
])('the snippet %s accepts simulated evidence on this machine alone', (id, words) => {
  const codeOf = (at: typeof facts) => makeSnippets(at).find((snippet) => snippet.id === id)?.code ?? '';
  expect(codeOf(here)).toContain(words);
  expect(codeOf(facts)).not.toMatch(/simulated/i);
  expect(codeOf({ ...facts, confidentialOrigin: 'https://localhost.example.com' })).not.toMatch(/simulated/i);
});
