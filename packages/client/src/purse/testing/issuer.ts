import {
  constants,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  privateDecrypt,
  verify,
} from 'node:crypto';
import { creditChallenge, creditSpki } from '@sotto/wire';
import { expect } from 'vitest';
import { modulusOf } from '../blind-rsa.ts';
import { CreditRefusal, type CreditService, type SignedBatch, type WalletOrder } from '../credit-service.ts';

/** The own key first. The planted one is larger, so that it can sign every number that is blinded for the own one. */
const pairs = [0, 1]
  .map(() => generateKeyPairSync('rsa', { modulusLength: 2048 }))
  .sort((a, b) => (modulusOf(a.publicKey) < modulusOf(b.publicKey) ? -1 : 1));
export const spkis = pairs.map(({ publicKey }) =>
  Buffer.from(creditSpki(publicKey.export({ format: 'der', type: 'pkcs1' }))),
);
export const issuer = { issuer: 'issuer.example', keys: [{ year: 2026, key: spkis[0]?.toString('base64url') ?? '' }] };

/** An order that waits for its payment. */
export const unpaid = (own: Partial<WalletOrder> = {}): WalletOrder => ({
  id: '5f0c7a9e-93a5-4d9c-8a6b-0d6f1f6c8a10',
  status: 'pending',
  ...{ amount: 10, total: 10.5, expires_at: '2026-11-15T13:00:00.000Z', problem: null, pay_to: [] },
  ...own,
});

/** A stand-in for the service. It signs anything, and knows which credits it has taken. */
export class Issuer implements CreditService {
  readonly batches: { path: string; body: Record<string, unknown> }[] = [];
  readonly deposits: { key_hash: string; close_hash: string; credits: string[] }[] = [];
  readonly spent = new Set<string>();
  signsWith = 0;
  signs = 50;
  more = false;
  /** The lots that the code has left, and the different batches that it has paid for. */
  lots = 100;
  readonly paid = new Set<string>();
  readonly orders: Record<string, unknown>[] = [];
  /** The answer to an order. Undefined: it is paid. */
  due: WalletOrder | undefined = unpaid();
  /** The client gets this error instead of the answer, though the service has done its part. */
  trouble: Error | undefined;

  async order(body: object): Promise<WalletOrder | undefined> {
    this.orders.push(body as Record<string, unknown>);
    if (this.trouble !== undefined) throw this.trouble;
    return this.due;
  }

  async sign(path: string, body: object): Promise<SignedBatch> {
    const batch = { path, body: body as Record<string, unknown> };
    this.batches.push(batch);
    if (this.trouble instanceof CreditRefusal) throw this.trouble;
    const name = JSON.stringify(batch.body.blinded);
    if (path === '/v1/credits' && !this.paid.has(name)) {
      if (this.lots === 0) throw new CreditRefusal({ type: 'forbidden', message: 'used up' }, false);
      this.lots -= 1;
      this.paid.add(name);
    }
    const key = pairs[this.signsWith]?.privateKey;
    if (key === undefined) throw new Error('no key');
    const numbers = (batch.body.blinded as string[]).slice(0, this.signs);
    const padding = constants.RSA_NO_PADDING;
    const signatures = numbers.map((number) => privateDecrypt({ key, padding }, Buffer.from(number, 'base64url')));
    if (this.trouble !== undefined) throw this.trouble;
    return { signatures, more: this.more, ...(path === '/v1/credits' ? { lots: this.lots } : {}) };
  }

  async deposit(body: object): Promise<void> {
    const deposit = body as Issuer['deposits'][number];
    const same = this.deposits.find((each) => each.key_hash === deposit.key_hash);
    if (same !== undefined) return expect(same).toEqual(deposit);
    const spent = deposit.credits.flatMap((credit, at) => (this.spent.has(credit) ? [at] : []));
    if (spent.length > 0)
      throw new CreditRefusal({ type: 'credits_spent', message: 'spent', param: spent.join(',') }, false);
    for (const credit of deposit.credits) {
      const bytes = Buffer.from(credit, 'base64url');
      const terms = {
        key: createPublicKey(createPrivateKey(pairs[0]?.privateKey.export({ format: 'pem', type: 'pkcs8' }) ?? '')),
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: 48,
      };
      expect(verify('sha384', bytes.subarray(0, 98), terms, bytes.subarray(98))).toBe(true);
      const digest = createHash('sha256').update(creditChallenge('issuer.example')).digest();
      expect(bytes.subarray(34, 66)).toEqual(digest);
      this.spent.add(credit);
    }
    this.deposits.push(deposit);
    if (this.trouble !== undefined) throw this.trouble;
  }
}
