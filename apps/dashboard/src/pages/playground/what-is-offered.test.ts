import type { ModelAnswer, PrivacyClass } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { chooseFrom, chosenModel, modelsOf, waysFor } from './what-is-offered.ts';

const model = (id: string, model_type: ModelAnswer['model_type'], ...classes: PrivacyClass[]) =>
  ({ id, model_type, provider_routes: classes.map((privacy_class) => ({ privacy_class })) }) as unknown as ModelAnswer;

const models = [
  model('/auto', 'text'),
  model('a/sealed', 'text', 'e2ee'),
  model('a/chat', 'text', 'private'),
  model('a/both', 'text', 'e2ee', 'tee'),
  model('a/paint', 'image', 'anonymous'),
];

describe('what the playground offers', () => {
  it('is the models of the kind, and first one that needs no encryption', () => {
    const chat = modelsOf(models, 'chat');
    expect(chat.map(({ id }) => id)).toEqual(['a/sealed', 'a/chat', 'a/both']);
    expect(chosenModel(chat, 'chat', undefined)).toBe('a/chat');
    expect(chosenModel(chat, 'chat', 'gone/model')).toBe('a/chat');
    expect(chosenModel(chat, 'chat', '/auto')).toBe('/auto');
    expect(chosenModel(modelsOf(models, 'image'), 'image', '/auto')).toBe('a/paint');
  });

  it('is encryption where a route takes it, and the ticket alone for media', () => {
    const [, sealed, chat, both, paint] = models;
    expect(waysFor('chat', sealed)).toEqual(['e2ee']);
    expect(waysFor('chat', chat)).toEqual(['private', 'compatibility']);
    expect(waysFor('chat', both)).toEqual(['private', 'e2ee', 'compatibility']);
    expect(waysFor('chat', undefined)).toEqual(['private', 'compatibility']);
    expect(waysFor('image', paint)).toEqual(['private']);
  });

  it('is limited to the ways of the page, also in the choices of the address', () => {
    const modes = ['chat'] as const;
    const own = { models, modes, ways: ['private', 'e2ee'] as const };
    const asked = { mode: 'image', model: 'a/chat', way: 'compatibility' } as const;
    expect(chooseFrom(own, asked)).toMatchObject({
      mode: 'chat',
      modelId: 'a/chat',
      way: 'private',
      ways: ['private'],
    });
    expect(chooseFrom(own, { model: 'a/both', way: 'e2ee' })).toMatchObject({ way: 'e2ee', ways: ['private', 'e2ee'] });
    const sealed = models.filter(({ id }) => id === 'a/sealed' || id === 'a/both');
    const sealedOnly = { models: sealed, modes, ways: ['e2ee'] as const };
    for (const id of ['a/sealed', 'a/both']) {
      const chosen = { modelId: id, way: 'e2ee', ways: ['e2ee'], offersAuto: false };
      expect(chooseFrom(sealedOnly, { model: id, way: 'private' })).toMatchObject(chosen);
    }
    expect(chooseFrom(own, {}).offersAuto).toBe(true);
  });
});
