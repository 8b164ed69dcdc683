import { parseRegistry, type RegistryProvider } from '@sotto/router';
import { describe, expect, it } from 'vitest';
import { problemOfMeasurement, teeObstacle } from './check-registry.ts';

const zeros = '00'.repeat(48);
const good = `mr_td=${zeros},rtmr1=${zeros},rtmr2=${zeros},rtmr3=${zeros}`;
const yaml = (changes: string): string => `providers:
  - id: vault
    name: Vault
    adapter: openai
    ${changes}
`;
const entry = (changes: string): RegistryProvider => {
  const parsed = parseRegistry(yaml(changes), 'digest');
  const [provider] = parsed.ok ? parsed.value.providers : [];
  if (provider === undefined) throw new Error(JSON.stringify(parsed));
  return provider;
};
const url = 'base_url: https://vault.example/v1';

it('a measurement that is none is told with its line, and a good one passes', () => {
  const text = yaml(`${url}
    privacy_class: tee
    attestation:
      family: near
      measurements:
        - ${good}
        - mr_td=00`);
  const parsed = parseRegistry(text, 'digest', problemOfMeasurement);
  expect(parsed.ok ? [] : parsed.problems).toEqual([
    { line: 11, message: expect.stringMatching(/^provider vault: .*`mr_td` must be 96 lower-case hex digits$/) },
  ]);
});

describe('what keeps tee routes from being served', () => {
  it.each<[string, string, string | undefined]>([
    [
      'nothing',
      `${url}\n    privacy_class: tee\n    attestation: {family: near, measurements: ["${good}"]}`,
      undefined,
    ],
    ['nothing for another class', `${url}\n    privacy_class: e2ee\n    attestation: {family: venice}`, undefined],
    ['no pins', `${url}\n    privacy_class: tee\n    attestation: {family: near}`, 'it pins no measurements'],
    [
      'a family that binds no TLS key',
      `${url}\n    privacy_class: tee\n    attestation: {family: venice}`,
      'its evidence binds no TLS key: its models can be e2ee or private',
    ],
    [
      'no TLS',
      `base_url: http://127.0.0.1:1/v1\n    privacy_class: tee\n    attestation: {family: near}`,
      'its address has no TLS',
    ],
  ])('%s', (_, changes, obstacle) => {
    expect(teeObstacle(entry(changes))).toBe(obstacle);
  });
});
