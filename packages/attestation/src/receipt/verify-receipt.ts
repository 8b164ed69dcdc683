import { fromHex } from '../bytes.ts';
import { Refusal, readOrRefuse, Unmade } from '../refusal.ts';
import type { KeySet } from '../statement/key-set.ts';
import { type Check, CheckList } from '../verdict.ts';
import { type Receipt, receiptBytes, receiptSchema } from './receipt.ts';

export const receiptChecks = [
  'receipt.format',
  'receipt.key',
  'receipt.signature',
  'receipt.registry',
  'receipt.request',
  'receipt.response',
  'receipt.unchanged',
] as const;
export type ReceiptCheckName = (typeof receiptChecks)[number];

/** The client's own record of the exchange. If a value is missing, its check is skipped. */
export interface OwnExchange {
  /** SHA-256 of the body that the client sent, and of the one that it received: 64 lower-case hex digits. */
  readonly requestSha256?: string;
  readonly responseSha256?: string;
}

/**
 * Verifies a receipt of the broker against an attested key set. Never throws: returns the list of checks. Only if all
 * passed does the receipt belong to that exchange. On routes without end-to-end encryption, the check
 * `receipt.unchanged` is skipped, because the broker translates bodies there.
 */
export async function verifyReceipt(
  receipt: unknown,
  keySet: KeySet,
  own: OwnExchange = {},
): Promise<readonly Check<ReceiptCheckName>[]> {
  const checks = new CheckList<ReceiptCheckName>(receiptChecks);
  const read = await checks.make('receipt.format', () =>
    readOrRefuse(receiptSchema, receipt, 'it is no receipt of this version'),
  );
  if (read === undefined) return checks.list();
  const key = await checks.make('receipt.key', () => signingKeyOf(read, keySet));
  if (key !== undefined) await checks.make('receipt.signature', () => requireSigned(read, key));
  await checks.make('receipt.registry', () => {
    if (read.provider_registry_digest !== keySet.provider_registry_digest) {
      throw new Refusal('it speaks of another provider registry than the key set');
    }
  });
  await checks.make('receipt.request', () => requireSame(read.received_sha256, own.requestSha256, 'request'));
  await checks.make('receipt.response', () => requireSame(read.returned_sha256, own.responseSha256, 'response'));
  await checks.make('receipt.unchanged', () => requireUnchanged(read));
  return checks.list();
}

function signingKeyOf({ key_id }: Receipt, keySet: KeySet): string {
  const key = keySet.receipt_signing_keys.find((one) => one.key_id === key_id && one.algorithm === 'ed25519');
  if (key === undefined) throw new Refusal('the key set has no such key for receipts');
  return key.public_key;
}

async function requireSigned(receipt: Receipt, publicKey: string): Promise<void> {
  const raw = fromHex(publicKey, 'the key', 32);
  const key = await crypto.subtle.importKey('raw', raw, 'Ed25519', false, ['verify']);
  const signature = fromHex(receipt.signature, 'the signature', 64);
  if (!(await crypto.subtle.verify('Ed25519', key, signature, receiptBytes(receipt)))) {
    throw new Refusal('the key did not sign it');
  }
}

function requireSame(signed: string, own: string | undefined, what: string): void {
  if (own === undefined) throw new Unmade(`the ${what} is not at hand`);
  if (signed !== own) throw new Refusal(`it is of another ${what}`);
}

/** An end-to-end-encrypted body went to one provider, and its answer came back, byte for byte. */
function requireUnchanged({ received_sha256, attempts, returned_sha256, status, complete }: Receipt): void {
  const [attempt, ...others] = attempts;
  if (attempt?.privacy_class !== 'e2ee') throw new Unmade('the route is not end-to-end encrypted');
  if (others.length > 0) throw new Refusal('it went to more than one provider');
  if (attempt.forwarded_sha256 !== received_sha256) throw new Refusal('what went to the provider is not what was sent');
  if (status !== 200 || !complete) throw new Unmade('the answer did not come to its end');
  if (attempt.answered_sha256 !== returned_sha256) throw new Refusal('what came back is not what the provider sent');
}
