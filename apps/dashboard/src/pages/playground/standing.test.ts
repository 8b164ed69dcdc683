import type { OriginVerification } from '@sotto/client';
import { expect, it } from 'vitest';
import { standingOf } from './standing.ts';

const verification = (part: Partial<OriginVerification>): OriginVerification => ({
  verdict: 'untrusted',
  isCurrent: true,
  notCurrent: [],
  checks: [],
  teeType: 'tdx',
  keySet: undefined,
  pin: undefined,
  origin: 'https://api.example.com',
  nonce: '',
  verifiedAt: 0,
  absence: undefined,
  tlsKeySeen: false,
  exporter: undefined,
  binding: 'none',
  document: {},
  ...part,
});
const failed = (name: 'gateway.measurement' | 'simulated.hardware') =>
  ({ name, outcome: 'failed', reason: 'it is not pinned' }) as const;

it('lets content go to what was verified, and to nothing below, naming the check that failed', () => {
  expect(standingOf(verification({ verdict: 'cryptographically_checked' })).kind).toBe('verified');
  for (const verdict of ['untrusted', 'policy_matched', 'unavailable'] as const) {
    expect(standingOf(verification({ verdict })).kind, verdict).toBe('refused');
  }
  const crl = { name: 'tdx.pck_crl', outcome: 'not_made', reason: 'no collateral was given' } as const;
  const outdated = standingOf(
    verification({ verdict: 'cryptographically_checked', isCurrent: false, notCurrent: [crl] }),
  );
  expect(outdated).toEqual({
    kind: 'refused',
    sentence: 'Content was not sent: the evidence is not shown to be up to date. tdx.pck_crl: no collateral was given.',
  });
  const standing = standingOf(verification({ checks: [failed('gateway.measurement')] }));
  expect(standing.sentence).toContain('gateway.measurement: it is not pinned.');
  expect(standingOf(verification({ verdict: 'unavailable', absence: 'No answer.' })).sentence).toContain('No answer.');
});

it('offers to go on with simulated evidence on loopback alone, and only where nothing else failed', () => {
  const part = { teeType: 'simulated', checks: [failed('simulated.hardware')] } as const;
  const simulated = verification({ ...part, origin: 'http://127.0.0.1:3001' });
  expect(standingOf(simulated).kind).toBe('simulated');
  expect(standingOf(verification({ ...part, origin: 'http://[::1]:3001' })).kind).toBe('simulated');
  for (const origin of ['https://api.example.com', 'https://127.0.0.1.example.com', 'http://10.0.0.1']) {
    expect(standingOf(verification({ ...part, origin })).kind, origin).toBe('refused');
  }
  const tampered = { ...simulated, checks: [failed('simulated.hardware'), failed('gateway.measurement')] };
  expect(standingOf(tampered).kind).toBe('refused');
});
