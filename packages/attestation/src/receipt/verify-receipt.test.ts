import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { KeySet } from '../statement/key-set.ts';
import { type Receipt, receiptBytes } from './receipt.ts';
import { type OwnExchange, verifyReceipt } from './verify-receipt.ts';

const pair = generateKeyPairSync('ed25519');
const publicKey = pair.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('hex');
const hash = (digit: string): string => digit.repeat(64);
const registry = `sha256:${hash('0')}`;

const keySet: KeySet = {
  service: 'sotto',
  not_after: 2_000_000_000,
  provider_registry_digest: registry,
  tls_public_keys: [],
  receipt_signing_keys: [
    { key_id: 'other', algorithm: 'ed25519', public_key: 'ab'.repeat(32) },
    { key_id: 'receipt-1', algorithm: 'ed25519', public_key: publicKey },
    { key_id: 'receipt-2', algorithm: 'secp256k1', public_key: publicKey },
  ],
  e2ee_public_keys: [],
};

type Signed = Omit<Receipt, 'signature'>;
const attempt: Receipt['attempts'][number] = {
  provider: 'acme',
  model: 'creator/model',
  upstream_model: 'their/model',
  privacy_class: 'e2ee',
  session_id: null,
  forwarded_sha256: hash('1'),
  answered_sha256: hash('2'),
};
const bill: Receipt['bill'] = {
  catalog_digest: `sha256:${hash('5')}`,
  usage: {
    prompt_tokens: 7,
    cached_tokens: 0,
    cache_write_tokens: 0,
    completion_tokens: 3,
    reasoning_tokens: 0,
    images: 0,
    input_characters: 0,
  },
  estimated: false,
  price: { input: 500_000, output: 1_500_000, tiers: [] },
  charge_nusd: '8000',
};
const signed = (changes: Partial<Signed> = {}): Receipt => {
  const receipt: Signed = {
    version: 'sotto.receipt.v1',
    key_id: 'receipt-1',
    issued_at: 1_795_000_000,
    operation: 'chat',
    status: 200,
    received_sha256: hash('1'),
    attempts: [attempt],
    returned_sha256: hash('2'),
    complete: true,
    bill,
    provider_registry_digest: registry,
    ...changes,
  };
  return { ...receipt, signature: sign(null, receiptBytes(receipt), pair.privateKey).toString('hex') };
};
const exchange: OwnExchange = { requestSha256: hash('1'), responseSha256: hash('2') };

const outcomes = async (receipt: unknown, own: OwnExchange = exchange): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await verifyReceipt(receipt, keySet, own)).map(({ name, outcome }) => [name.replace('receipt.', ''), outcome]),
  );

describe('a receipt of the broker', () => {
  it('passes every check if it belongs to this exchange', async () => {
    expect(await outcomes(signed())).toEqual({
      format: 'passed',
      key: 'passed',
      signature: 'passed',
      registry: 'passed',
      request: 'passed',
      response: 'passed',
      unchanged: 'passed',
    });
  });

  it.each<[string, Partial<Receipt>]>([
    ['another request', { received_sha256: hash('3') }],
    ['another answer', { returned_sha256: hash('3') }],
    ['another status', { status: 201 }],
    ['another minute', { issued_at: 1_795_000_060 }],
    ['another provider', { attempts: [{ ...attempt, provider: 'beta' }] }],
    ['another session', { attempts: [{ ...attempt, session_id: 's' }] }],
    ['another registry', { provider_registry_digest: `sha256:${hash('9')}` }],
    ['an attempt less', { attempts: [] }],
    ['another end', { complete: false }],
    ['another charge', { bill: { ...bill, charge_nusd: '7999' } }],
    ['no charge', { bill: null }],
    ['the key id of another', { key_id: 'other' }],
    ['a flipped signature', { signature: signed().signature.replace(/^./, (first) => (first === '0' ? '1' : '0')) }],
  ])('does not pass with %s put in afterwards', async (_, change) => {
    expect(await outcomes({ ...signed(), ...change })).toMatchObject({ signature: 'failed' });
  });

  it.each([
    ['nothing', undefined],
    ['a text', 'x'],
    ['another version', { ...signed(), version: 'sotto.receipt.v2' }],
    ['a member more', { ...signed(), prompt: 'hello' }],
    ['upper-case hex', { ...signed(), received_sha256: 'A'.repeat(64) }],
    ['a short signature', { ...signed(), signature: 'ab' }],
  ])('has one form: %s is refused before any other check', async (_, receipt) => {
    const { format, ...others } = await outcomes(receipt);
    expect(format).toBe('failed');
    expect(new Set(Object.values(others))).toEqual(new Set(['not_made']));
  });

  it.each(['receipt-2', 'receipt-9'])(
    'is signed by a key for receipts of the attested key set, not by %s',
    async (id) => {
      expect(await outcomes(signed({ key_id: id }))).toMatchObject({ key: 'failed', signature: 'not_made' });
    },
  );

  it('is of the provider registry that was attested', async () => {
    const other = signed({ provider_registry_digest: `sha256:${hash('9')}` });
    expect(await outcomes(other)).toMatchObject({ signature: 'passed', registry: 'failed' });
  });

  it('matches this request and this answer, as far as they are known', async () => {
    expect(await outcomes(signed(), { requestSha256: hash('3') })).toMatchObject({
      request: 'failed',
      response: 'not_made',
    });
    expect(await outcomes(signed(), { responseSha256: hash('3') })).toMatchObject({
      request: 'not_made',
      response: 'failed',
    });
  });

  it.each<[string, Partial<Signed>, string]>([
    ['other bytes went to the provider', { attempts: [{ ...attempt, forwarded_sha256: hash('4') }] }, 'failed'],
    ['other bytes came from it', { attempts: [{ ...attempt, answered_sha256: hash('4') }] }, 'failed'],
    ['no bytes came from it', { attempts: [{ ...attempt, answered_sha256: null }] }, 'failed'],
    ['it went to two', { attempts: [attempt, attempt] }, 'failed'],
    ['the provider failed', { status: 503, returned_sha256: hash('5') }, 'not_made'],
    ['it was broken off', { complete: false }, 'not_made'],
    ['the route is not encrypted', { attempts: [{ ...attempt, privacy_class: 'tee' }] }, 'not_made'],
    ['there was no attempt', { attempts: [] }, 'not_made'],
  ])('tells whether encrypted bytes went through unchanged: %s', async (_, change, unchanged) => {
    expect(await outcomes(signed(change))).toMatchObject({ signature: 'passed', unchanged });
  });
});
