import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { toHex } from '../bytes.ts';
import { der, objectIdentifier, sequence, time } from '../testing/der-writer.ts';
import { extension, Issuer } from '../testing/issuer.ts';
import { flipped, vectorBytes, vectorCertificate, vectorJson } from '../testing/vectors.ts';
import { parseCertificate, parsePemChain } from './certificate.ts';
import { verifyChain } from './chain.ts';
import { requireUnrevoked, verifyRevocationList } from './crl.ts';
import { derChildren, derObjectIdentifier, derSmallInteger, derTime, readDer } from './der.ts';

const collateral = vectorJson<Record<string, string>>('tdx/collateral_2026-03_90c06f.json');
const certificates = [
  ...parsePemChain(collateral.pck_crl_issuer_chain ?? '', 'chain').map(({ raw }) => raw),
  ...parsePemChain(collateral.tcb_info_issuer_chain ?? '', 'chain').map(({ raw }) => raw),
  ...['ar_milan_ark.der', 'ar_genoa_asvk.der', 'ar_milan_vlek.der', 'ms_turin_vcek.pem', 'ms_genoa_ask.pem'].map(
    (name) => vectorCertificate(`snp/${name}`),
  ),
];

it('reads real certificates as OpenSSL does', () => {
  expect(certificates.length).toBeGreaterThan(8);
  for (const raw of certificates) {
    const [ours, theirs] = [parseCertificate(raw), new X509Certificate(raw)];
    const spki = theirs.publicKey.export({ type: 'spki', format: 'der' });
    expect(toHex(ours.spki)).toBe(toHex(spki));
    expect(BigInt(`0x${toHex(ours.serialNumber)}`)).toBe(BigInt(`0x${theirs.serialNumber}`));
    expect(ours.validity.fromMs).toBe(theirs.validFromDate.getTime());
    expect(ours.validity.untilMs).toBe(theirs.validToDate.getTime() + 1000);
    expect(theirs.subject.split('\n')).toContain(`CN=${ours.commonName}`);
  }
});

it('refuses a certificate that is cut or has extra bytes, and other input', () => {
  const raw = vectorBytes('snp/ar_milan_vlek.der');
  for (const bytes of [
    raw.slice(0, -1),
    raw.slice(1),
    new Uint8Array([...raw, 0]),
    new Uint8Array(),
    new Uint8Array(9),
  ]) {
    expect(() => parseCertificate(bytes)).toThrow(/DER|certificate/);
  }
  expect(() => parseCertificate(new Uint8Array(20_000))).toThrow('too large');
});

it('refuses critical extensions that it does not understand, and repeated ones', async () => {
  const root = await Issuer.make('Root');
  const moment = { earliestMs: Date.parse('2026-01-01'), latestMs: Date.parse('2026-01-01') };
  const strange = extension('1.2.3.4', new Uint8Array(), true);
  const chain = [parseCertificate(await root.certify({ subject: 'Leaf', spki: root.spki, extensions: [strange] }))];
  await expect(verifyChain(chain, root.anchor, moment)).rejects.toThrow('1.2.3.4 is not understood');
  const twice = await root.certify({ subject: 'Leaf', spki: root.spki, extensions: [strange, strange] });
  expect(() => parseCertificate(twice)).toThrow('comes twice');
});

it('refuses a chain through a certificate that is not an authority, has another name, or is not yet valid', async () => {
  const [root, middle] = [await Issuer.make('Root'), await Issuer.make('Middle')];
  const moment = { earliestMs: Date.parse('2026-01-01'), latestMs: Date.parse('2026-01-01') };
  const leaf = parseCertificate(await middle.certify({ subject: 'Leaf', spki: root.spki }));
  const link = async (request: { authority?: boolean; subject?: string; from?: string }) =>
    parseCertificate(await root.certify({ subject: 'Middle', spki: middle.spki, authority: true, ...request }));
  const verify = async (...chain: ReturnType<typeof parseCertificate>[]) => verifyChain(chain, root.anchor, moment);

  await expect(verify(leaf, await link({}))).resolves.toHaveLength(2);
  await expect(verify(leaf, await link({ authority: false }))).rejects.toThrow('no certificate authority');
  await expect(verify(leaf, await link({ subject: 'Other' }))).rejects.toThrow(
    'not issued by the certificate after it',
  );
  await expect(verify(leaf, await link({ from: '2027-01-01T00:00:00Z' }))).rejects.toThrow('not yet valid');
  await expect(verify(leaf)).rejects.toThrow('does not end at Root');
  await expect(verify()).rejects.toThrow('no certificate below the root');
  await expect(verify(parseCertificate(await root.certifySelf()))).rejects.toThrow('no certificate below the root');
  const stranger = await Issuer.make('Root');
  const forged = parseCertificate(await stranger.certify({ subject: 'Leaf', spki: root.spki }));
  await expect(verify(forged)).rejects.toThrow('bad signature');
});

it('accepts one spelling of each PEM', () => {
  const pem = collateral.tcb_info_issuer_chain ?? '';
  expect(parsePemChain(pem.replaceAll('\n', '\r\n'), 'chain')).toHaveLength(2);
  expect(parsePemChain(`${pem}\0`, 'chain')).toHaveLength(2);
  for (const changed of [
    `${pem}x`,
    `${pem}\0\0`,
    pem.replace('-----END', '----END'),
    pem.replace('\nMII', '\n MII'),
    pem.replace(/=(\n-----END)/, '$1'),
    pem.slice(0, -30),
    pem.repeat(3),
    '',
  ]) {
    expect(() => parsePemChain(changed, 'the chain')).toThrow('the chain');
  }
  const bytes = new TextEncoder().encode(pem);
  expect(() => parsePemChain(flipped(bytes, 40, 7), 'the chain')).toThrow('not ASCII');
});

it('accepts one spelling of each DER', () => {
  const bytes = (...values: number[]) => Uint8Array.from(values);
  for (const wrong of [
    bytes(0x30, 0x80, 0, 0), // indefinite length
    bytes(0x30, 0x81, 0x01, 0), // long form of a short length
    bytes(0x30, 0x84, 0, 0, 0, 0), // four bytes of length
    bytes(0x3f, 0x81, 0x01, 0), // tag of several bytes
    bytes(0x30, 0x02, 0), // ends early
    bytes(0x30),
    bytes(),
  ]) {
    expect(() => readDer(wrong, 0x30)).toThrow('DER');
  }
  const many = der(
    0x30,
    new Uint8Array(2 * 257).map((_, index) => (index % 2 === 0 ? 0x05 : 0)),
  );
  expect(() => derChildren(readDer(many, 0x30))).toThrow('too many parts');
  const integerOf = (...values: number[]) => derSmallInteger(readDer(der(0x02, bytes(...values)), 0x02));
  expect(integerOf(0, 0x80)).toBe(128);
  for (const wrong of [[], [0, 1], [0xff, 0x80], [0x80], [1, 0, 0, 0, 0]])
    expect(() => integerOf(...wrong)).toThrow('DER');
  expect(derObjectIdentifier(readDer(objectIdentifier('1.2.840.113741.1.13.1'), 0x06))).toBe('1.2.840.113741.1.13.1');
  expect(() => derObjectIdentifier(readDer(der(0x06, bytes(0x80, 1)), 0x06))).toThrow('not minimal');
  expect(() => derObjectIdentifier(readDer(der(0x06, bytes(0x2a, 0x86)), 0x06))).toThrow('unfinished');
  expect(() => derTime(derChildren(readDer(sequence(der(0x17, bytes(0x31))), 0x30))[0])).toThrow('time');
  expect(derTime(readDer(time('2026-01-01T00:00:00Z'), 0x18))).toBe(Date.UTC(2026, 0, 1));
});

it('reads a revocation list of any length that its issuer signed', async () => {
  const issuer = await Issuer.make('Issuer');
  const serials = Array.from({ length: 1000 }, (_, index) => index + 1);
  const list = await verifyRevocationList(await issuer.revoke({ revoked: serials }), issuer.anchor);
  expect(list.revoked.size).toBe(1000);
  const listed = parseCertificate(await issuer.certify({ subject: 'Listed', spki: issuer.spki, serial: 1000 }));
  const other = parseCertificate(await issuer.certify({ subject: 'Other', spki: issuer.spki, serial: 1001 }));
  expect(() => requireUnrevoked(list, [other, listed])).toThrow('Listed is revoked');
  expect(requireUnrevoked(list, [other])).toBeUndefined();
});
