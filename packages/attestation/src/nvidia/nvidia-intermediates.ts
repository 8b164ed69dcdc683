import type { TrustAnchor } from '../x509/chain.ts';
import { pinnedAnchor } from '../x509/pinned-anchor.ts';

/**
 * The intermediates under which NVIDIA's remote attestation service certifies its signing keys. Those keys live two
 * days, an intermediate four years: a new one is added here before the old one ends.
 */
export const nvidiaIntermediates: readonly TrustAnchor[] = [
  // Valid 2025-12-08 to 2029-12-08.
  pinnedAnchor({
    name: 'NVIDIA Attestation Service GPU Intermediate 004',
    subject:
      'MGQxODA2BgNVBAMML05WSURJQSBBdHRlc3RhdGlvbiBTZXJ2aWNlIEdQVSBJbnRlcm1lZGlhdGUgMDA0MRswGQYDVQQKDBJOVklESUEgQ29ycG9yYXRpb24xCzAJBgNVBAYTAlVT',
    spki: 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAwpjlEM5SlPois3V8CWQaYyMJDtmYa23nryEnJqi+kHZGTHY/RSsRUXrDnT6CQNCMTA8GBTMvOzCCWFf4UQKPbreqtDmYmcDxUn8ajfmXA8hTJGBJx7zIBWkrmMTIjVpvVnDnDoofBXV9LPKppB6vjTOPJfEe1TYV9BwdiGdpsaeJx/3caRXG6UWr2hAhLy6m1Er0jQJoPsTQglbIoSjxf65LBmStcJMuhPB3MnWMcnStjD/eXXOTr6qvNAjsQj4LI4FDfyU/Rq/YjV2qH/VtmSqmrAowA0XyE0uzfUkLKeyb+lLnU+bRWxSqe4AisKY41IEBFKNyZFkx4gbkawWVhQIDAQAB',
  }),
];
