import type { ModelAnswer, PrivacyClass } from '@sotto/wire';
import { expect, it } from 'vitest';
import { enclaveModels, enclaveRoutes } from './enclave-models.ts';

const model = (...routes: readonly (readonly [string, PrivacyClass])[]) =>
  ({
    provider_routes: routes.map(([provider, privacy_class]) => ({ provider, privacy_class })),
  }) as unknown as ModelAnswer;

it('finds what an enclave serves, each provider once at its strongest', () => {
  const plain = model(['acme', 'private']);
  const attested = model(['acme', 'private'], ['vault', 'tee'], ['safe', 'tee'], ['safe', 'e2ee']);
  expect(enclaveModels([plain, attested])).toEqual([attested]);
  expect(enclaveRoutes(attested)).toEqual([
    { provider: 'safe', tier: 'e2ee' },
    { provider: 'vault', tier: 'tee' },
  ]);
  expect(enclaveRoutes(undefined)).toEqual([]);
});
