import { keccak_256 } from '@noble/hashes/sha3.js';
import * as z from 'zod';
import { type Bytes, concatBytes, fromHex, sameBytes } from '../bytes.ts';
import { Refusal, readOrRefuse } from '../refusal.ts';
import { type Check, CheckList } from '../verdict.ts';
import type { ProviderKey } from './family-check.ts';
import { addressOf } from './signing-key.ts';

export const providerReceiptChecks = [
  'receipt.format',
  'receipt.signer',
  'receipt.signature',
  'receipt.request',
  'receipt.response',
] as const;
export type ProviderReceiptCheckName = (typeof providerReceiptChecks)[number];

const hexText = z.string().regex(/^(?:0x)?[0-9a-fA-F]+$/);
const receiptSchema = z.object({
  text: z.string().max(4096),
  signature: hexText.max(260),
  signing_address: hexText.max(260),
  signing_algo: z.enum(['ecdsa', 'ed25519']),
});

export interface ReceiptChallenge {
  /** SHA-256 of the exact bytes that the enclave received and sent: 64 lower-case hex digits. */
  readonly requestSha256: string;
  readonly responseSha256: string;
  /** The signing key that the session's evidence bound: `publicKey` of its `ProviderKey`. */
  readonly key: Pick<ProviderKey, 'algorithm' | 'publicKey'>;
}

/**
 * Verifies the receipt that a provider's enclave signed for one answer. The signed text is
 * `<model>:<request>:<response>`, or the same without the model, and the key must be attested. Never throws: returns
 * the list of checks. Only if all passed does the receipt belong to that exchange. Source: NEAR AI and
 * dstack-vllm-proxy (EIP-191, Ed25519).
 */
export async function verifyProviderReceipt(
  receipt: unknown,
  challenge: ReceiptChallenge,
): Promise<readonly Check<ProviderReceiptCheckName>[]> {
  const checks = new CheckList<ProviderReceiptCheckName>(providerReceiptChecks);
  const read = await checks.make('receipt.format', () => {
    const signed = readOrRefuse(receiptSchema, receipt, 'it is no signed text');
    const [request, response] = signed.text.split(':').slice(-2);
    return { ...signed, request, response };
  });
  if (read === undefined) return checks.list();
  const { key } = challenge;
  await checks.make('receipt.signer', () => {
    const address = unprefixed(read.signing_address, 'the signing address');
    const expected = key.algorithm === 'secp256k1' ? addressOf(key.publicKey) : key.publicKey;
    if (!sameBytes(address, expected)) throw new Refusal('it names another signer than the attested key');
  });
  await checks.make('receipt.signature', () => {
    const signature = unprefixed(read.signature, 'the signature');
    return requireSigned(read.text, { signature, algorithm: read.signing_algo }, key);
  });
  await checks.make('receipt.request', () => requireSame(read.request, challenge.requestSha256, 'request'));
  await checks.make('receipt.response', () => requireSame(read.response, challenge.responseSha256, 'response'));
  return checks.list();
}

async function requireSigned(
  text: string,
  { signature, algorithm }: { readonly signature: Bytes; readonly algorithm: 'ecdsa' | 'ed25519' },
  key: ReceiptChallenge['key'],
): Promise<void> {
  if (key.algorithm !== (algorithm === 'ecdsa' ? 'secp256k1' : 'ed25519')) {
    throw new Refusal('the attested key is of another algorithm');
  }
  const isSigned =
    algorithm === 'ecdsa'
      ? sameBytes(await recoverSigner(text, signature), addressOf(key.publicKey))
      : await isSignedByEdwards(key.publicKey, signature, text);
  if (!isSigned) throw new Refusal('the attested key did not sign it');
}

function requireSame(signed: string | undefined, own: string, what: string): void {
  if (signed?.toLowerCase() !== own) throw new Refusal(`it is of another ${what}`);
}

const unprefixed = (hex: string, what: string): Bytes => fromHex(hex.replace(/^0x/, ''), what);

/** The address that signed a text under EIP-191 (`personal_sign`). */
async function recoverSigner(text: string, signature: Bytes): Promise<Bytes> {
  if (signature.length !== 65) throw new Refusal('the signature has not 65 bytes');
  // Loaded on demand: the broker does not verify receipts, so it does not need this code.
  const { secp256k1 } = await import('@noble/curves/secp256k1.js');
  const utf8 = new TextEncoder();
  const message = utf8.encode(text);
  const digest = keccak_256(concatBytes(utf8.encode(`\u0019Ethereum Signed Message:\n${message.length}`), message));
  // Ethereum counts from 27, some signers from 0.
  const last = signature[64] ?? 0;
  const point = secp256k1.Signature.fromBytes(signature.subarray(0, 64), 'compact')
    .addRecoveryBit(last < 27 ? last : last - 27)
    .recoverPublicKey(digest)
    .toBytes(false);
  return addressOf(Uint8Array.from(point));
}

async function isSignedByEdwards(publicKey: Bytes, signature: Bytes, text: string): Promise<boolean> {
  const key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify']);
  return crypto.subtle.verify('Ed25519', key, signature, new TextEncoder().encode(text));
}
