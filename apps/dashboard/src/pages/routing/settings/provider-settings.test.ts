import type { ModelAnswer, RouteAnswer } from '@sotto/wire';
import { expect, it } from 'vitest';
import { knownProviders } from './provider-settings.tsx';

const route = (provider: string, privacy_class: RouteAnswer['privacy_class']) => ({ provider, privacy_class });
const model = (id: string, ...routes: object[]) => ({ id, provider_routes: routes }) as unknown as ModelAnswer;

it('lists each provider once with its models and tiers, variants that go with another, and ignored ones that serve nothing', () => {
  const models = [
    model('a/one', route('acme', 'tee'), route('acme', 'private'), route('acme/eu', 'private')),
    model('a/two', route('acme', 'private')),
  ];
  expect(knownProviders(models, ['acme', 'gone'])).toEqual([
    { id: 'acme', models: 2, tiers: ['private', 'tee'], ignoredBy: undefined },
    { id: 'acme/eu', models: 1, tiers: ['private'], ignoredBy: 'acme' },
    { id: 'gone', models: 0, tiers: [], ignoredBy: undefined },
  ]);
});
