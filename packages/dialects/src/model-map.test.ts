import { describe, expect, it } from 'vitest';
import { catalogModel, idForClaudeCode, readModelRule } from './model-map.ts';

const catalog = new Set(['openai/gpt-5', 'anthropic/claude-opus-4.6', 'acme/small']);
const resolve = (name: string, rules: readonly string[] = [], fallback?: string): string =>
  catalogModel(name, {
    rules: rules.flatMap((rule) => readModelRule(rule) ?? []),
    fallback,
    isKnown: (id) => catalog.has(id),
  });

describe('the model for a name', () => {
  it.each([
    ['claude-haiku-4-5', 'acme/small'],
    ['claude-sonnet-4-6', 'openai/gpt-5'],
    ['gpt-5-mini', 'acme/small'],
  ])('%s comes from the first rule that matches', (name, model) => {
    const rules = ['claude-haiku*=acme/small', 'claude-*=openai/gpt-5', 'gpt-5-mini=acme/small'];
    expect(resolve(name, rules)).toBe(model);
  });

  it('may be one of the catalog, with its suffix, or the automatic one', () => {
    for (const name of ['acme/small', 'acme/small:floor', '/auto'])
      expect(resolve(name, [], 'openai/gpt-5')).toBe(name);
  });

  it('is the fallback for names that nothing knows, else the name itself', () => {
    expect(resolve('claude-sonnet-4-6', [], 'acme/small')).toBe('acme/small');
    expect(resolve('claude-sonnet-4-6')).toBe('claude-sonnet-4-6');
    expect(resolve('acme/small:online', [], 'openai/gpt-5')).toBe('openai/gpt-5');
  });

  it('may be an id that Claude Code was shown', () => {
    for (const id of catalog) expect(resolve(idForClaudeCode(id), [], 'acme/other')).toBe(id);
    expect(idForClaudeCode('/auto')).toBe('anthropic//auto');
    expect(resolve('anthropic//auto')).toBe('/auto');
    expect(idForClaudeCode('anthropic/claude-opus-4.6')).toBe('anthropic/claude-opus-4.6');
    for (const id of catalog) expect(idForClaudeCode(id)).toMatch(/^(?:claude|anthropic)/);
  });
});

describe('a pattern', () => {
  it.each([
    ['*', 'anything', true],
    ['claude-*', 'claude-', true],
    ['claude-*', 'my-claude-4', false],
    ['*-mini', 'gpt-5-mini', true],
    ['a*b*c', 'aXbYc', true],
    ['a*b*c', 'acb', false],
    ['ab*ba', 'aba', false],
    ['gpt.5', 'gptx5', false],
    ['plain', 'plain', true],
    ['plain', 'plainer', false],
  ])('%s on %s: %s', (pattern, name, matches) => {
    expect(resolve(name, [`${pattern}=acme/small`])).toBe(matches ? 'acme/small' : name);
  });
});

it('a rule is a name and a model; the model may contain further equals signs', () => {
  expect(readModelRule('a=b=c')).toEqual({ pattern: 'a', model: 'b=c' });
  for (const text of ['', 'a', '=b', 'a=']) expect(readModelRule(text)).toBeUndefined();
});
