import { describe, expect, it } from 'vitest';
import { type Charge, readBill } from '../bill/read-bill.ts';
import { checkBillReceipts } from './bill-receipts.ts';
import type { SignatureFinding } from './receipt-signature.ts';

const hash = 'a'.repeat(64);
const catalogDigest = `sha256:${'c'.repeat(64)}`;
/** A receipt of 7 prompt and 3 completion tokens, at 1 and 2 USD a million: 13 micro-dollars. */
const receipt = (changes: object = {}, bill: object = {}) => ({
  ...{ version: 'sotto.receipt.v1', key_id: 'receipt-1', issued_at: 1_795_000_020, operation: 'chat', status: 200 },
  ...{ received_sha256: hash, returned_sha256: hash, complete: true, signature: 'b'.repeat(128) },
  provider_registry_digest: `sha256:${hash}`,
  attempts: [
    {
      ...{ provider: 'acme', model: 'acme/small', upstream_model: 'small', privacy_class: 'private', session_id: null },
      ...{ forwarded_sha256: hash, answered_sha256: hash },
    },
  ],
  bill: {
    ...{ catalog_digest: catalogDigest, estimated: false, charge_nusd: '13000' },
    usage: {
      ...{ prompt_tokens: 7, cached_tokens: 0, cache_write_tokens: 0, completion_tokens: 3, reasoning_tokens: 0 },
      ...{ images: 0, input_characters: 0 },
    },
    price: { input: 1_000_000, output: 2_000_000, tiers: [] },
    ...bill,
  },
  ...changes,
});
const row = (changes: object = {}) => ({
  ...{ id: 'row', operation: 'chat', model: 'acme/small', provider: 'acme', privacy_class: 'private' },
  ...{
    prompt_tokens: 7,
    cached_tokens: 0,
    completion_tokens: 3,
    reasoning_tokens: 0,
    cost: 0.000013,
    estimated: false,
  },
  receipt: receipt(),
  ...changes,
});
const list = {
  prices: [
    {
      ...{ model: 'acme/small', provider: 'acme', contextLength: undefined, maxOutputTokens: undefined },
      price: { input: 1_000_000, output: 2_000_000 },
    },
  ],
  catalogDigest,
};
const valid: SignatureFinding = {
  ...{ state: 'valid', origin: 'https://broker.example', keyId: 'receipt-1', verdict: 'hardware_verified' },
  teeType: 'snp',
};

async function checked(rows: readonly object[], signature: SignatureFinding = valid) {
  const bill = readBill(JSON.stringify({ data: rows }));
  const charges: readonly Charge[] = typeof bill === 'string' ? expect.unreachable(bill) : bill.charges;
  const shown: string[] = [];
  const code = await checkBillReceipts({
    ...{ charges, prices: list, check: async () => signature },
    show: (line) => void shown.push(line),
  });
  return { code, text: shown.join('\n') };
}

describe('the receipts of a bill', () => {
  it('prove each charge whose receipt is signed and states the same', async () => {
    const other = row({ receipt: receipt({ issued_at: 1_795_000_030 }) });
    expect(await checked([row(), other])).toEqual({
      code: 0,
      text: '2 of 2 charges are proven by a signed receipt.',
    });
  });

  it.each<[string, readonly object[], string]>([
    ['another charge', [row({ cost: 0.000014 })], 'row: the receipt is of another charge: 0.000013 USD'],
    ['another model', [row({ model: 'acme/large' })], 'the receipt is of another charge'],
    ['another provider', [row({ provider: 'birch' })], 'the receipt is of another charge'],
    ['two charges', [row(), row({ id: 'twin' })], 'twin: another charge has the same receipt'],
    ['no charge', [row({ receipt: receipt({ bill: null }) })], 'row: the receipt states no charge'],
    ['nothing', [row({ receipt: { version: 'sotto.receipt.v1' } })], 'row: the receipt states no charge'],
    [
      'a price that the list does not have',
      [
        row({
          receipt: receipt({}, { price: { input: 1_000_000, output: 3_000_000, tiers: [] }, charge_nusd: '13000' }),
        }),
      ],
      "does not follow from its usage and the list's prices",
    ],
  ])('refuse a bill with a receipt of %s', async (_, rows, sentence) => {
    const { code, text } = await checked(rows);
    expect(code).toBe(1);
    expect(text).toContain(sentence);
  });

  it('tell a forged one from one that was not checked, and from none', async () => {
    expect(await checked([row()], { state: 'invalid', reason: 'the key did not sign it' })).toMatchObject({ code: 1 });
    const unchecked = await checked([row()], { state: 'unchecked', reason: 'pass --base-url' });
    expect(unchecked).toEqual({
      code: 3,
      text: '0 of 1 charges are proven by a signed receipt.\n1 is not: signature not checked: pass --base-url.',
    });
    expect(await checked([row(), row({ receipt: undefined })])).toEqual({
      code: 3,
      text: '1 of 2 charges are proven by a signed receipt.\n1 is not: no receipt came.',
    });
  });
});
