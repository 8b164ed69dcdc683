import type { EnclaveVerification, OriginVerification } from '@sotto/client';
import { privacyClasses } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { verdictOrder } from '../../../verification/verdicts.tsx';
import type { AnswerFacts } from './conversation.ts';
import { marksOf } from './privacy-receipt.tsx';

const gateway = (part: Partial<OriginVerification>): OriginVerification => ({
  verdict: 'cryptographically_checked',
  isCurrent: true,
  notCurrent: [],
  checks: [],
  teeType: 'tdx',
  keySet: undefined,
  pin: undefined,
  origin: 'https://broker.example',
  nonce: '',
  verifiedAt: 0,
  absence: undefined,
  tlsKeySeen: false,
  exporter: undefined,
  binding: 'none',
  document: {},
  ...part,
});
const facts = (part: Partial<AnswerFacts>): AnswerFacts => ({
  way: 'private',
  askedModel: 'lab/a',
  provider: 'acme',
  ...part,
});
const enclave = (verdict: EnclaveVerification['verdict']) =>
  ({ verdict, checks: [] }) as unknown as EnclaveVerification;
const isVerified = (word: string): boolean => word.startsWith('verified');

describe('the privacy receipt', () => {
  it('calls a broker verified only if this browser verified it, on evidence of real hardware', () => {
    expect(isVerified(marksOf(facts({ gateway: gateway({}) })).broker.word)).toBe(true);
    expect(marksOf(facts({ way: 'compatibility' })).broker.word).toBe('not verified');
    for (const verdict of verdictOrder) {
      const word = marksOf(facts({ gateway: gateway({ verdict }) })).broker.word;
      expect(isVerified(word), verdict).toBe(verdictOrder.indexOf(verdict) >= 3);
      const simulated = gateway({ verdict, teeType: 'simulated' });
      expect(marksOf(facts({ gateway: simulated })).broker.word).toBe('simulated, not verified');
    }
  });

  it('never calls a provider verified on the word of the broker', () => {
    for (const tier of [...privacyClasses, undefined]) {
      const { provider } = marksOf(facts({ tier, gateway: gateway({ verdict: 'hardware_verified' }) }));
      expect(provider.word, tier).not.toContain('verified');
      expect(provider.tone, tier).not.toBe('good');
    }
  });

  it('calls an enclave verified as far as the verdict on it goes', () => {
    const wordFor = (verdict: EnclaveVerification['verdict']): string =>
      marksOf(facts({ tier: 'e2ee', enclave: enclave(verdict) })).provider.word;
    expect(wordFor('cryptographically_checked')).toBe('verified: cryptographically checked');
    expect(wordFor('policy_matched')).toBe('not verified: policy matched');
    expect(wordFor('untrusted')).toBe('not verified: untrusted');
  });
});
