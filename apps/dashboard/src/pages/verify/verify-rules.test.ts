import type { ModelAnswer, PrivacyClass } from '@sotto/wire';
import { expect, it } from 'vitest';
import { meets, verdictOrder } from '../../verification/verdicts.tsx';
import { enclaveModels, enclaveRoutes, provenanceOf } from './verify-rules.ts';

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

it('reads what the evidence claims, and links to https alone', () => {
  const provenance = { repository: 'https://code.example/sotto', commit: 'a'.repeat(40), image_digest: 'sha256:b' };
  expect(provenanceOf({ provenance })).toEqual(provenance);
  for (const repository of ['javascript:alert(1)', 'http://code.example', 7]) {
    expect(provenanceOf({ provenance: { ...provenance, repository } })).toBeUndefined();
  }
  for (const document of [
    undefined,
    null,
    'x',
    {},
    { provenance: null },
    { provenance: { repository: 'https://a.b' } },
  ]) {
    expect(provenanceOf(document)).toBeUndefined();
  }
});

it('meets a verdict by order, and never an unknown word', () => {
  expect(meets('hardware_verified', 'cryptographically_checked')).toBe(true);
  expect(meets('policy_matched', 'cryptographically_checked')).toBe(false);
  for (const verdict of verdictOrder) {
    expect(meets(verdict, 'hardware-verified' as never)).toBe(false);
    expect(meets('hardware-verified' as never, verdict)).toBe(false);
  }
});
