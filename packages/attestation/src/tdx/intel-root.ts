import { pinnedAnchor } from '../x509/pinned-anchor.ts';

/**
 * Intel SGX Root CA, valid to 2049-12-31: the root of every PCK certificate, TCB info and QE identity.
 * SHA-256 of the public key a0af0312…, of the certificate 44a0196b….
 */
export const intelSgxRoot = pinnedAnchor({
  name: 'Intel SGX Root CA',
  subject:
    'MGgxGjAYBgNVBAMMEUludGVsIFNHWCBSb290IENBMRowGAYDVQQKDBFJbnRlbCBDb3Jwb3JhdGlvbjEUMBIGA1UEBwwLU2FudGEgQ2xhcmExCzAJBgNVBAgMAkNBMQswCQYDVQQGEwJVUw==',
  spki: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEC6nEwMDIYZOj/iPWsCzaEKi71OiOSLRFhWGjbnBVJfVnkY4u3IjkDYYL0MxO4mqsyYjlBalTVYxFP2sJBK5zlA==',
});
