import { expect, it } from 'vitest';
import { provenanceOf } from './provenance.ts';

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
