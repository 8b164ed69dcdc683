import { describe, expect, it } from 'vitest';
import type { ModelAnswer } from './answers/models.ts';
import { preferredModel } from './preferred-model.ts';

const model = (id: string, { auto, privacy_class = 'private', price = 1 }: Partial<ModelAnswer> & { price?: number }) =>
  ({
    id,
    ...(auto === undefined ? {} : { auto }),
    privacy_class,
    pricing: { input: price, output: price },
    provider_routes: [{ privacy_class }],
  }) as unknown as ModelAnswer;

const idOf = (...models: ModelAnswer[]) => preferredModel(models)?.id;

describe('preferredModel', () => {
  it('prefers a provider that keeps nothing, then the lower price', () => {
    const cheap = model('a/cheap', { privacy_class: 'anonymous', price: 0.1 });
    const dear = model('a/dear', { price: 9 });
    expect(idOf(cheap, dear, model('a/fair', { price: 2 }))).toBe('a/fair');
    expect(idOf(cheap, model('a/other', { privacy_class: 'anonymous' }))).toBe('a/cheap');
  });

  it('takes a model that `/auto` never chooses only if there is no other', () => {
    const demo = model('demo/chat', { auto: false, price: 0 });
    expect(idOf(demo, model('a/real', { privacy_class: 'anonymous' }))).toBe('a/real');
    expect(idOf(demo)).toBe('demo/chat');
  });

  it('takes a model that must be encrypted for only if there is no other', () => {
    const sealed = model('a/sealed', { privacy_class: 'e2ee', price: 0 });
    expect(idOf(sealed, model('a/plain', { privacy_class: 'anonymous' }))).toBe('a/plain');
    expect(idOf(sealed)).toBe('a/sealed');
    expect(idOf()).toBeUndefined();
  });
});
