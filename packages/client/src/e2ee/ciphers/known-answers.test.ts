import { describe, expect, it } from 'vitest';
import { nearCiphers } from '../near/near-family.ts';
import { gatewaySuites, vllmProxyCiphers } from '../phala/phala-family.ts';
import { bytesOf, fixedRandom, vector } from '../testing/known-answers.ts';
import { veniceCipher } from '../venice/venice-family.ts';
import type { FieldCipher, FieldOpener } from './field-cipher.ts';
import { secp256k1, x25519 } from './key-agreement.ts';

interface Known {
  readonly scheme: string;
  readonly recipient_private?: string;
  readonly recipient_public?: string;
  readonly recipient_public_uncompressed?: string;
  readonly recipient_x25519_private?: string;
  readonly recipient_ed25519_public?: string;
  readonly ephemeral_private?: string;
  readonly ephemeral_x25519_private?: string;
  readonly nonce: string;
  readonly aad: string | null;
  readonly plaintext_utf8: string;
  readonly wire_hex: string;
}

const { vectors } = vector<{ readonly vectors: readonly Known[] }>('sotto/fields.json');
const known = (start: string): Known => {
  const found = vectors.find(({ scheme }) => scheme.startsWith(start));
  if (found === undefined) throw new Error(`no vector ${start}`);
  return found;
};

const publicKeyOf = (answer: Known): string =>
  answer.recipient_ed25519_public ?? answer.recipient_public_uncompressed ?? answer.recipient_public ?? '';
const secretOf = (answer: Known): string => answer.recipient_x25519_private ?? answer.recipient_private ?? '';
const openerOf = async (answer: Known, cipher: FieldCipher): Promise<FieldOpener> =>
  cipher.opener(
    await (answer.recipient_public_uncompressed || answer.scheme.includes('secp256k1') ? secp256k1 : x25519).load(
      bytesOf(secretOf(answer)),
    ),
  );
const ephemeralOf = (answer: Known): string => answer.ephemeral_x25519_private ?? answer.ephemeral_private ?? '';

const spoken: readonly (readonly [string, string, FieldCipher])[] = [
  ['NEAR ecdsa', 'A secp256k1', nearCiphers.secp256k1],
  ['Venice', 'A secp256k1', veniceCipher],
  ['NEAR ed25519', 'C2 NEAR', nearCiphers.ed25519],
  ['dstack-vllm-proxy ecdsa, without context', 'A secp256k1', vllmProxyCiphers.secp256k1],
  ['dstack-vllm-proxy ecdsa', 'A-v2', vllmProxyCiphers.secp256k1],
  ['dstack-vllm-proxy ed25519, without context', 'B Phala', vllmProxyCiphers.ed25519],
  ['dstack-vllm-proxy ed25519', 'B-v2', vllmProxyCiphers.ed25519],
  ['private-ai-gateway x25519', 'ACI E2EE v2 x25519', gatewaySuites.x25519.cipher],
  ['private-ai-gateway secp256k1', 'ACI E2EE v2 secp256k1', gatewaySuites.secp256k1.cipher],
];

describe.each(spoken)('known answer: %s', (_, scheme, cipher) => {
  const answer = known(scheme);
  const aad = answer.aad ?? undefined;

  it('is sealed byte for byte', async () => {
    const random = fixedRandom(ephemeralOf(answer), answer.nonce);
    const using = aad === undefined ? { random } : { random, aad };
    expect(await cipher.seal(bytesOf(publicKeyOf(answer)), answer.plaintext_utf8, using)).toBe(answer.wire_hex);
  });

  it('is opened', async () => {
    const opener = await openerOf(answer, cipher);
    expect(await opener.open(answer.wire_hex, aad)).toBe(answer.plaintext_utf8);
  });

  it('does not open if a bit is flipped, it is cut, or the context differs', async () => {
    const open = async (wire: string, context = aad) => (await openerOf(answer, cipher)).open(wire, context);
    for (const at of [4, answer.wire_hex.length - 40, answer.wire_hex.length - 1]) {
      const flipped = (Number.parseInt(answer.wire_hex.charAt(at), 16) ^ 1).toString(16);
      const wire = answer.wire_hex.slice(0, at) + flipped + answer.wire_hex.slice(at + 1);
      await expect(open(wire)).rejects.toMatchObject({ code: 'e2ee_decryption_failed' });
    }
    await expect(open(answer.wire_hex.slice(0, -2))).rejects.toMatchObject({ code: 'e2ee_decryption_failed' });
    await expect(open(answer.wire_hex, `${aad ?? ''}x`)).rejects.toMatchObject({ code: 'e2ee_decryption_failed' });
  });

  it('opens once: a repeated ciphertext is an error', async () => {
    const opener = await openerOf(answer, cipher);
    await opener.open(answer.wire_hex, aad);
    await expect(opener.open(answer.wire_hex.toUpperCase(), aad)).rejects.toMatchObject({
      code: 'e2ee_reply_out_of_order',
    });
  });
});

describe('schemes that share a header value', () => {
  it.each(['C1 NEAR', 'C1-salsa', 'B Phala'])('%s does not open as NEAR ed25519, version 2', async (scheme) => {
    const answer = known(scheme);
    const opener = await openerOf(answer, nearCiphers.ed25519);
    await expect(opener.open(answer.wire_hex)).rejects.toMatchObject({ code: 'e2ee_decryption_failed' });
  });
});

describe('a secret key', () => {
  it('is erased from the caller’s buffer; a closed secp256k1 key opens nothing', async () => {
    const given = bytesOf(secretOf(known('A secp256k1')));
    const pair = await secp256k1.load(given);
    expect(given.every((byte) => byte === 0)).toBe(true);
    const opener = veniceCipher.opener(pair);
    opener.close();
    await expect(opener.open(known('A secp256k1').wire_hex)).rejects.toMatchObject({ code: 'e2ee_decryption_failed' });
    const other = bytesOf(secretOf(known('ACI E2EE v2 x25519')));
    await x25519.load(other);
    expect(other.every((byte) => byte === 0)).toBe(true);
  });
});

describe('keys of low order', () => {
  const random = (length: number) => new Uint8Array(length).fill(7);
  const points = {
    zero: '00'.repeat(32),
    one: `01${'00'.repeat(31)}`,
    eight: 'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
  };

  it.each(Object.entries(points))('X25519 %s is refused, both as a recipient and in a reply', async (_, point) => {
    const { cipher } = gatewaySuites.x25519;
    await expect(cipher.seal(bytesOf(point), 'x', { random })).rejects.toMatchObject({ code: 'e2ee_key_invalid' });
    const forged = point + '00'.repeat(12 + 16 + 4);
    const opener = cipher.opener(await x25519.load(random(32)));
    await expect(opener.open(forged)).rejects.toMatchObject({ code: 'e2ee_decryption_failed' });
  });

  it.each([
    ['Ed25519 of order one', `01${'00'.repeat(31)}`],
    ['Ed25519 of order two', `ec${'ff'.repeat(30)}7f`],
  ])('%s is refused', async (_, point) => {
    const sealing = nearCiphers.ed25519.seal(bytesOf(point), 'x', { random });
    await expect(sealing).rejects.toMatchObject({ code: 'e2ee_key_invalid' });
  });

  it('a secp256k1 key off the curve is refused', async () => {
    const sealing = veniceCipher.seal(bytesOf(`04${'11'.repeat(64)}`), 'x', { random });
    await expect(sealing).rejects.toMatchObject({ code: 'e2ee_key_invalid' });
  });
});
