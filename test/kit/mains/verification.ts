import { readFileSync } from 'node:fs';
import { type TdxCollateral, verifyNvidia, verifySnp } from '@sotto/attestation';
import { verifyProviderUnder, verifyTdxUnder } from '@sotto/attestation/testing';
import type { BrokerOptions, Enclaves } from '@sotto/confidential';

/** What a broker under test takes for genuine, in the file that `TEST_ENCLAVES` names. */
export interface TestTrust {
  /** Of the stand-in machine: the name and key of its root, base64. */
  readonly subject: string;
  readonly spki: string;
  readonly collateral: TdxCollateral;
  /** The authority of the stand-in providers' certificates, PEM. */
  readonly ca: string;
}

/** Takes every provider for an enclave that was verified. */
const assumed: Enclaves = {
  current: (_, { upstream }) => ({ upstream, sessionId: 'assumed' }),
  size: 0,
  open: async (_, { upstream }) => ({ upstream, sessionId: 'assumed' }),
  close: async () => {},
};

/**
 * How a broker under test verifies enclaves. `assumed`: not at all, for tests about something else. Else under the root
 * in the file of that name. Only the mains of this folder know it: the broker itself has no such switch.
 */
export function testVerification(setting: string | undefined): Pick<BrokerOptions, 'engine' | 'enclaves'> {
  if (setting === undefined) return {};
  if (setting === 'assumed') return { enclaves: () => assumed };
  const trust = readTrust(setting);
  const bytes = (base64: string) => Uint8Array.from(Buffer.from(base64, 'base64'));
  const anchor = { name: 'Test Root', subject: bytes(trust.subject), spki: bytes(trust.spki) };
  return {
    engine: {
      ca: trust.ca,
      verifyProvider: (document, challenge) =>
        verifyProviderUnder(
          {
            verifyTdx: (evidence, time, policy) => verifyTdxUnder(anchor, evidence, time, policy),
            verifySnp,
            verifyNvidia,
          },
          document,
          challenge,
        ),
      openVendors: () => ({
        // Read anew each time: a test may publish other ones.
        collateralFor: async () => readTrust(setting).collateral,
        endorsementFor: () => Promise.reject(new Error('there is no SEV-SNP machine here')),
      }),
    },
  };
}

const readTrust = (file: string): TestTrust => JSON.parse(readFileSync(file, 'utf8')) as TestTrust;
