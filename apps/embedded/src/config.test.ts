import { expect, it } from 'vitest';
import { readConfig } from './config.ts';

const attestationOf = (environment: Record<string, string>): string => {
  const read = readConfig(environment, '/project');
  return read.ok ? read.config.attestation : read.message;
};

it('simulates evidence in development, and never where it is told that this is production', () => {
  expect(attestationOf({})).toBe('auto');
  expect(attestationOf({ ATTESTATION: 'simulated' })).toBe('simulated');
  expect(attestationOf({ NODE_ENV: 'production' })).toBe('off');
  expect(attestationOf({ NODE_ENV: 'production', ATTESTATION: 'dstack' })).toBe('dstack');
  expect(attestationOf({ NODE_ENV: 'production', ATTESTATION: 'simulated' })).toMatch(/^ATTESTATION is `simulated`/);
});
