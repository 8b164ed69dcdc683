import { fromBase64 } from './bytes.ts';
import type { TrustAnchor } from './x509/chain.ts';

/** A root that is stored in this package: DER in base64. */
function pinnedAnchor(pin: { name: string; subject: string; spki: string }): TrustAnchor {
  return {
    name: pin.name,
    subject: fromBase64(pin.subject, pin.name),
    spki: fromBase64(pin.spki, pin.name),
  };
}

/** The supported processor lines. A report of one never verifies under the root of another. */
export const snpProducts = ['milan', 'genoa', 'turin'] as const;
export type SnpProduct = (typeof snpProducts)[number];

/** AMD's root key (ARK) of each line. SHA-256 of the public keys: 9f056bee…, 429a69c9…, 4f125410…. */
export const amdRoots: Readonly<Record<SnpProduct, TrustAnchor>> = {
  milan: pinnedAnchor({
    name: 'ARK-Milan',
    subject:
      'MHsxFDASBgNVBAsMC0VuZ2luZWVyaW5nMQswCQYDVQQGEwJVUzEUMBIGA1UEBwwLU2FudGEgQ2xhcmExCzAJBgNVBAgMAkNBMR8wHQYDVQQKDBZBZHZhbmNlZCBNaWNybyBEZXZpY2VzMRIwEAYDVQQDDAlBUkstTWlsYW4=',
    spki: 'MIICIjANBgkqhkiG9w0BAQEFAAOCAg8AMIICCgKCAgEA0Ld52RJOdeiJlqK2JdsVmD7FktuotWwX1fNgW41XY9Xz1HEhSUmhLz9Cu9DHRlvgJSNxbeYYsnJfvyjx1MfU0V5tkKiU1EesNFta1kTA0szNisdYc9isqk7mXT5+KfGRbfc4V/9zRIcE8jlHN61S1ju8X93+6dxDUrG2SzxqJ4BhqyYmUDruPXJSX4vUc01P7j98MpqOS95rORdGHeI52Naz5m2B+O+vjsC060d37jY9LFeuOP4Meri8qgfi2S5kKqg/aF6aPtuAZQVR7u3KFYXP59XmJgtcog05gmI0T/OitLhuzVvpZcLph0odh/1IPXqx3+MnjD97A7fXpqGd/y8KxX7jksTEzAOgbKAeam3lm+3yKIcTYMlsRMXPcjNbIvmsBykD//xSniusuHBkgnlENEWx1UcbQQrs+gVDkuVPhsnzIRNgYvM48Y+7LGiJYnrmE8xcrexekBxrva2V9TJQqnN3Q53kt5viQi3+gCfmkwC0F0tirIZbLkXPrPwzZ0M9eNxhIySb2npJfgnqz55I0u33wh4r0ZNQeTGfw03MBUtyuzGesGkcw+loqMaq1qR4tjGbPYxCvpCq7+OgpCCoMNit2uLo9M18fHz10lOMT8nWAUvRZFzteXCm+7PHdYPlmQwUw3LvenJ/ILXoQPHfbkH0CyPfhl1jWhJFZasCAwEAAQ==',
  }),
  genoa: pinnedAnchor({
    name: 'ARK-Genoa',
    subject:
      'MHsxFDASBgNVBAsMC0VuZ2luZWVyaW5nMQswCQYDVQQGEwJVUzEUMBIGA1UEBwwLU2FudGEgQ2xhcmExCzAJBgNVBAgMAkNBMR8wHQYDVQQKDBZBZHZhbmNlZCBNaWNybyBEZXZpY2VzMRIwEAYDVQQDDAlBUkstR2Vub2E=',
    spki: 'MIICIjANBgkqhkiG9w0BAQEFAAOCAg8AMIICCgKCAgEA3Cd95S/uFOuRIskW9vz9VDBF69NDQF79oRhL/L2PVQGhK3YdfEBgpF/JiwWFBsT/fXDhzA01p3LkcT/7LdjcRfKXjHl+0Qq/M4dZkh6QDoUeKzNBLDcBKDDGWo3v35NyrxbA1DnkYwUKU5AAk4P94tKXLp80oxt84ahyHoLmc/LqsGsp+oq1Bz4PPsYLwTG4iMKVaaT90/oZ4I8oibSru92vJhlqWO27d/Rxc3iUMyhNeGToOvgx/iUo4gGpG61NDpkEUvIzuKcaMx8IdTpWg2DF6SwF0IgVMffnvtJmA68BwJNWo1E4PLJdaPfBifcJpuBFwNVQIPQEVX3aP89HJSp8YbY9lySS6PlVEqTBBtaQmi4ATGmMR+n2K/e+JAhU2Gj7jIpJhOkdH9firQDnmlA2SFfJ/Cc0mGNzW9RmIhyOUnNFoclmkRhl3/AQU5Ys9Qsan1jT/EiyT+pCpmnA+y9edvhDCbOG8F2oxHGRdTBkylungrkXJGYiwGrR8kaiqv7NN8QhOBMqYjcbrkEr0f8QMKklIS5ruOfqlLMCBw8JLB3LkjpWgtD7OpxkzSsohN47Uom86RY6lp72g8eXHP1qYrnvhzaG1S70vw6OkbaaC9EjiH/uHgAJQGxon7u0Q7xgoREWA/e7JcBQwLg80Hq/sbRuqesxz7wBWSY254cCAwEAAQ==',
  }),
  turin: pinnedAnchor({
    name: 'ARK-Turin',
    subject:
      'MHsxFDASBgNVBAsMC0VuZ2luZWVyaW5nMQswCQYDVQQGEwJVUzEUMBIGA1UEBwwLU2FudGEgQ2xhcmExCzAJBgNVBAgMAkNBMR8wHQYDVQQKDBZBZHZhbmNlZCBNaWNybyBEZXZpY2VzMRIwEAYDVQQDDAlBUkstVHVyaW4=',
    spki: 'MIICIjANBgkqhkiG9w0BAQEFAAOCAg8AMIICCgKCAgEAwaAriB7EIuVc4ZB1wD3YfDxL+9eyS7+izm0Jj3W772NINCWl8Bj3w/JD2ZjmbRxWdIq/4d9iarCKorXloJUB1jRdgxqccTx1aOoig4+2w1XhVVJT7K457wT5ZLNJgQaxqa9Etkwjd6+9sOhlCDE9l43kQ0R2BikVJa/uyyVOSwEk5w5tXKOuG9jvq6QtAMJasW38wlqRDaKEGtZ9VUgGon27ZuL4sTJuC/azz9/iQBw8kEilzOl95AiTkeY5jSEBDWbAqnZk5qlM7kISKG20kgQm14mhNKDI2p2oua+zuAG7i52epoRF2GfU0TYk/yf+vCNB2tnechFQuP2e8bLk95ZdqPi9/UWw4JXjtdEA4u2JYplSSUPQVAXKt6LVqujtJcM59JKr2u0XQ75KwxcMp15gSXhBfInvPAwuAY4dEwwGqT8oIg4esPHwEsmChhYeDIxPG9R4fx9O0q6p8Gb+HXlTiS47P9YNeOpidOUKzDl/S1OvyhDtSL8LJc24QATFydo/iD/KUdvFTRlD0crkAMkZLoWQ8hLDGc6BZJXsdd7Zf2e4UW3tI/1oh/2t23Ot3zyhTcv5gDbABu0LjVe98uRnS15SMwK//lJt9e5BqKvgABkSoABf+B4VFtPVEX0ygrYaFaI9i5ABrxnVBmzXpRb21iI1NlNCfOGUPIhVpWECAwEAAQ==',
  }),
};

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

/**
 * The intermediates under which NVIDIA's remote attestation service certifies its signing keys. Those keys are valid
 * for two days, an intermediate for four years. Add a new intermediate before the old one expires.
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
