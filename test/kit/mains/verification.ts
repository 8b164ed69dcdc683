import { readFileSync } from 'node:fs';
import { type TdxCollateral, verifyNvidia, verifySnp } from '@sotto/attestation';
import { verifyProviderUnder, verifyTdxUnder } from '@sotto/attestation/testing';
import type { BrokerOptions, Enclaves } from '@sotto/confidential';

/** The roots that a broker under test trusts, in the file that `TEST_ENCLAVES` names. */
export interface TestTrust {
  /** The name and key of the stand-in machine's root, base64. */
  readonly subject: string;
  readonly spki: string;
  readonly collateral: TdxCollateral;
  /** The authority of the stand-in providers' certificates, PEM. */
  readonly ca: string;
}

/** Treats every provider as a verified enclave. */
const assumed: Enclaves = {
  current: (_, { upstream }) => ({ upstream, sessionId: 'assumed' }),
  size: 0,
  open: async (_, { upstream }) => ({ upstream, sessionId: 'assumed' }),
  close: async () => {},
};

/**
 * Returns how a broker under test verifies enclaves. `assumed` skips verification, for tests about other things. Any
 * other setting is the file with the root. Only the mains of this folder have this option: the broker itself has no
 * such switch.
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
        // Reads the file each time, because a test may publish other collateral.
        collateralFor: async () => readTrust(setting).collateral,
        endorsementFor: () => Promise.reject(new Error('there is no SEV-SNP machine here')),
      }),
    },
  };
}

const readTrust = (file: string): TestTrust => JSON.parse(readFileSync(file, 'utf8')) as TestTrust;
