import { noUsage } from '@sotto/money';
import type { Route } from '@sotto/router';
import { type Settlement, type SettleRequest, verifySettlement } from '@sotto/state';
import { describe, expect, it } from 'vitest';
import type { Admission } from '../admission/admit.ts';
import { RequestSettlement } from './request-settlement.ts';

const macKey = Buffer.alloc(32, 1);
const route = {
  ...{ id: 'm@a', modelId: 'm/one', publicProviderId: 'acme', privacyClass: 'private' },
  price: { input: 1000n, output: 1000n },
} as unknown as Route;

/** Settles a request of 5,000 prompt tokens, and returns what the state and the ledger get. */
async function settled(isQuiet: boolean): Promise<{ request: SettleRequest; record: Settlement }> {
  const requests: SettleRequest[] = [];
  const holds = { handOver: async (request: SettleRequest) => void requests.push(request) };
  const admission = { attempts: [route], shard: 1, holdId: 'hold', month: '2026-11', holdNusd: 10_000_000n, isQuiet };
  const settlement = new RequestSettlement(
    { holds: holds as never, macKey, now: () => 61_000, onExcess: () => {} },
    { ...admission, accountRef: 'ref', catalogDigest: '' } as unknown as Admission,
    'chat',
  );
  settlement.attempts = 1;
  const usage = { ...noUsage, promptTokens: 5_000, completionTokens: 77 };
  const bounds = { promptTokens: 9_000, completionTokens: 9_000 };
  const counted = { promptTokens: 5_000, producedBytes: 300 };
  await settlement.settle('completed', { route, reported: usage, counted, bounds, firstTokenMs: 800 });
  const [request] = requests;
  if (request?.entry === undefined) throw new Error('nothing was settled');
  const record = verifySettlement(macKey, request.entry);
  if (typeof record === 'string') throw new Error(record);
  return { request, record };
}

describe('a quiet settlement', () => {
  it('has the charge, exactly, and the minute, and nothing that tells one request from another', async () => {
    const [told, quiet] = [await settled(false), await settled(true)];
    expect(told.record).toMatchObject({
      v: 1,
      promptTokens: 5_000,
      completionTokens: 77,
      firstToken: expect.anything(),
    });
    const { id, kind, accountRef, chargeNusd, at, month } = told.record;
    expect(quiet.record).toEqual({ v: 2, id, kind, accountRef, chargeNusd, at, month });
    expect(JSON.parse(quiet.request.entry?.payload ?? '')).toEqual(quiet.record);
    expect([quiet.request.chargeNusd, BigInt(chargeNusd)]).toEqual([told.request.chargeNusd, told.request.chargeNusd]);
    expect([told.request.usedTokens, quiet.request.usedTokens]).toEqual([5_077, 8_192]);
  });
});
