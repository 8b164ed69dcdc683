import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { describe, expect, it } from 'vitest';
import { fromHex, toHex } from '../bytes.ts';
import { failed } from '../testing/outcomes.ts';
import { vectorJson } from '../testing/vectors.ts';
import { verifyProviderReceipt } from './verify-receipt.ts';

interface Signed {
  readonly text: string;
  readonly signature: string;
  readonly signing_address: string;
  readonly signing_algo: string;
}

/** NEAR AI's documented signature names only its address, so the test recovers the key. */
const known = vectorJson<Signed>('near/chat_signature_eip191.json');
const [, requestSha256 = '', responseSha256 = ''] = known.text.split(':');
const message = new TextEncoder().encode(known.text);
const digest = keccak_256(Buffer.concat([Buffer.from(`\u0019Ethereum Signed Message:\n${message.length}`), message]));
const publicKey = Uint8Array.from(
  secp256k1.Signature.fromBytes(fromHex(known.signature.slice(2, 130), 'it'), 'compact')
    .addRecoveryBit(Number.parseInt(known.signature.slice(130), 16) - 27)
    .recoverPublicKey(digest)
    .toBytes(false),
);
const challenge = { requestSha256, responseSha256, key: { algorithm: 'secp256k1', publicKey } as const };
const verify = async (receipt: unknown, changes: Partial<typeof challenge> = {}) =>
  failed(await verifyProviderReceipt(receipt, { ...challenge, ...changes }));

describe("an enclave's receipt, as NEAR AI documents it", () => {
  it('is of its request, its answer and its signer', async () => {
    expect(await verify(known)).toEqual([]);
    const zeroBased = { ...known, signature: known.signature.replace(/1b$/, '00') };
    expect(await verify(zeroBased)).toEqual([]);
  });

  it.each<[string, Partial<Signed>, string[]]>([
    ['another text', { text: known.text.replace('Qwen', 'qwen') }, ['receipt.signature']],
    ['another signature', { signature: known.signature.replace('ed38', 'ed39') }, ['receipt.signature']],
    ['another address', { signing_address: '00'.repeat(20) }, ['receipt.signer']],
    ['another algorithm', { signing_algo: 'ed25519' }, ['receipt.signature']],
    ['no signature', { signature: '' }, ['receipt.format']],
    ['a short signature', { signature: '0x00' }, ['receipt.signature']],
  ])('with %s is refused', async (_, changes, checks) => {
    expect(await verify({ ...known, ...changes })).toEqual(checks);
  });

  it('is refused for other bytes', async () => {
    expect(await verify(known, { requestSha256: responseSha256 })).toEqual(['receipt.request']);
    expect(await verify(known, { responseSha256: requestSha256 })).toEqual(['receipt.response']);
  });
});

describe('an Ed25519 receipt', () => {
  it('is of the attested key, or refused', async () => {
    const pair = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
    if (!('privateKey' in pair)) throw new Error('a key pair was wanted');
    const own = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey));
    const text = `${requestSha256}:${responseSha256}`;
    const signature = toHex(
      new Uint8Array(await crypto.subtle.sign('Ed25519', pair.privateKey, new TextEncoder().encode(text))),
    );
    const receipt = { text, signature, signing_address: toHex(own), signing_algo: 'ed25519' };
    const of = async (bytes: Uint8Array<ArrayBuffer>) =>
      failed(await verifyProviderReceipt(receipt, { ...challenge, key: { algorithm: 'ed25519', publicKey: bytes } }));
    expect(await of(own)).toEqual([]);
    expect(await of(new Uint8Array(32))).toEqual(['receipt.signer', 'receipt.signature']);
  });
});
