import { parseRegistry, type RegistryProvider } from '@sotto/router';
import { describe, expect, it } from 'vitest';
import { problemOfMeasurement, problemOfPlainHttp, teeObstacle } from './check-registry.ts';

const zeros = '00'.repeat(48);
const good = `mr_td=${zeros},rtmr0=${zeros},rtmr1=${zeros},rtmr2=${zeros},rtmr3=${zeros}`;
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

it('reports a malformed measurement with its line, and accepts a good one', () => {
  const text = yaml(`${url}
    privacy_class: tee
    attestation:
      family: near
      measurements:
        - ${good}
        - mr_td=00`);
  const parsed = parseRegistry(text, 'digest', { problemOfMeasurement });
  expect(parsed.ok ? [] : parsed.problems).toEqual([
    { line: 11, message: expect.stringMatching(/^provider vault: .*`mr_td` must be 96 lower-case hex digits$/) },
  ]);
});

describe('the obstacle to serving tee routes', () => {
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

it.each(['ollama', '10.0.0.5', '[fd12::5]', '127.0.0.1'])('takes %s without evidence and under simulated', (host) => {
  expect(problemOfPlainHttp(host, undefined)).toBeUndefined();
  expect(problemOfPlainHttp(host, { kind: 'simulated' })).toBeUndefined();
});

it.each(['configfs', 'dstack'] as const)('takes no host where the evidence is real (%s)', (kind) => {
  for (const host of ['ollama', '10.0.0.5', '127.0.0.1', '8.8.8.8']) {
    expect(problemOfPlainHttp(host, { kind })).toMatch(/not possible where the broker proves its code/);
  }
});

it.each(['8.8.8.8', '169.254.169.254', '[fe80::1]', '[fd00:ec2::254]'])('takes no public address: %s', (host) => {
  expect(problemOfPlainHttp(host, undefined)).toMatch(/takes a private address/);
});
