import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { type KeySet, type Receipt, receiptBytes } from '@sotto/attestation';
import { describe, expect, it } from 'vitest';
import { answerFrom } from '../answer.ts';
import { simulatedKeySet } from '../gateway/testing/simulated-evidence.ts';
import type { OriginVerification } from '../gateway/verify-origin.ts';
import { type ReceiptProofParts, unprovenBecause } from './receipt-proof.ts';

const exchange = { requestSha256: 'a'.repeat(64), responseSha256: 'b'.repeat(64), status: 200 };
const secret = 'c'.repeat(64);

function makeBroker(id: string): { readonly keySet: KeySet; readonly key: KeyObject } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const public_key = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex');
  const receiptKeys = [{ key_id: id, algorithm: 'ed25519' as const, public_key }];
  return { keySet: simulatedKeySet({ origin: 'https://b.example', receiptKeys }), key: privateKey };
}

function receiptBy(id: string, key: KeyObject): Receipt {
  const signed: Omit<Receipt, 'signature'> = {
    version: 'sotto.receipt.v1',
    key_id: id,
    issued_at: 0,
    operation: 'chat',
    status: 200,
    received_sha256: exchange.requestSha256,
    attempts: [],
    returned_sha256: exchange.responseSha256,
    complete: true,
    bill: null,
    provider_registry_digest: `sha256:${'0'.repeat(64)}`,
  };
  return { ...signed, signature: sign(null, receiptBytes(signed), key).toString('hex') };
}

const old = makeBroker('old');
const restarted = makeBroker('new');

/** Asks a broker whose answers come in this order: a receipt, nothing, or a connection that fails. */
async function proved(answers: readonly (Receipt | 'none' | 'cut')[], now: KeySet | undefined, before = old.keySet) {
  const pauses: number[] = [];
  const left = [...answers];
  const session: ReceiptProofParts['session'] = {
    async send() {
      const next = left.length > 1 ? left.shift() : left[0];
      if (next === 'cut') throw new Error('the connection failed');
      return answerFrom(next === 'none' ? new Response('{}', { status: 404 }) : Response.json(next));
    },
    async verified() {
      if (now === undefined) throw new Error('it is away');
      return { keySet: now } as OriginVerification;
    },
  };
  const sleep = async (ms: number): Promise<void> => void pauses.push(ms);
  const { signal } = new AbortController();
  return { reason: await unprovenBecause(exchange, { secret, before }, { session, sleep, signal }), pauses };
}

describe('the proof of an exchange', () => {
  it('is a receipt of the broker that was verified before, also if it was restarted or went away since', async () => {
    const receipt = receiptBy('old', old.key);
    for (const now of [old.keySet, restarted.keySet, undefined]) {
      expect(await proved([receipt], now)).toEqual({ reason: undefined, pauses: [] });
    }
  });

  it('is one of the broker that was verified while the request ran', async () => {
    expect(await proved([receiptBy('new', restarted.key)], restarted.keySet)).toMatchObject({ reason: undefined });
  });

  it('is none by a key that nobody verified, whatever it calls itself', async () => {
    const { key } = makeBroker('other');
    expect((await proved([receiptBy('other', key)], old.keySet)).reason).toContain('receipt.key');
    expect((await proved([receiptBy('old', key)], old.keySet)).reason).toContain('receipt.signature');
  });

  it('is waited for, over connections that fail, and not for ever', async () => {
    const receipt = receiptBy('old', old.key);
    expect(await proved(['none', 'cut', receipt], old.keySet)).toEqual({ reason: undefined, pauses: [250, 500] });
    for (const absence of ['none', 'cut'] as const) {
      const { reason, pauses } = await proved([absence], old.keySet);
      expect(reason).toBe('the broker gave no receipt within 10 s');
      expect(pauses.reduce((sum, each) => sum + each, 0)).toBeLessThan(10_000);
    }
  });
});
