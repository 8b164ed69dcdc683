import { createHash } from 'node:crypto';
import type { Upstream, UpstreamHandler } from '@sotto/providers';
import type { Route } from '@sotto/router';
import { createMemoryState, MemoryStore, openReceipt, receiptIdOf } from '@sotto/state';
import { beforeEach, expect, it } from 'vitest';
import type { CallableProvider } from '../providers/provider-set.ts';
import { ProviderReceipts } from './provider-receipts.ts';

const id = 'preq_0123456789abcdef';
const route = { modelId: 'm/one', publicProviderId: 'vault', upstreamModel: 'own/model' } as Route;
const request = { path: '/chat/completions', body: '{"a":"secret question"}', accept: 'application/json' };
const signed = { text: 't', signature: 's', signing_address: 'a', signing_algo: 'ed25519' };
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

let asked: string[];
let waited: number[];
let answers: { status: number; body: Buffer }[];
let state: ReturnType<typeof createMemoryState>;
let receipts: ProviderReceipts;
let settled: Promise<void>;

const receiptSecret = 'ab'.repeat(32);

beforeEach(() => {
  [asked, waited, answers] = [[], [], []];
  state = createMemoryState({ store: new MemoryStore(Date.now) });
  let done = (): void => {};
  settled = new Promise((resolve) => {
    done = resolve;
  });
  receipts = new ProviderReceipts({
    state: {
      readReceipt: state.readReceipt,
      async keepReceipt(...kept) {
        await state.keepReceipt(...kept);
        // It is kept under the id, then under the client's secret.
        if (kept[1] === receiptIdOf(receiptSecret)) done();
      },
    },
    sleep: async (ms) => {
      waited.push(ms);
      if (waited.length === 8) done();
    },
    documents: {
      of: () => ({
        documents: {
          async get(path) {
            asked.push(path);
            return answers.shift() ?? { status: 404, body: Buffer.alloc(0) };
          },
          close: async () => {},
        },
        vendors: { collateralFor: async () => undefined, endorsementFor: () => Promise.reject(new Error()) },
      }),
    },
  });
});

const providerOf = (family: string) => ({ entry: { attestation: { family } } }) as CallableProvider;
/** A provider whose answer comes in these pieces. */
const upstreamOf = (pieces: readonly string[], status = 200): Upstream => ({
  call(_, handler) {
    handler.onResponse(status, { contentType: 'application/json', retryAfter: undefined, isDelimited: true });
    for (const piece of pieces) handler.onBytes(Buffer.from(piece));
    handler.onEnd();
    return { hasBegun: true, abort() {}, pause() {}, resume() {} };
  },
  close: async () => {},
  retire() {},
});
const heard = (family: string, upstream: Upstream): string => {
  let text = '';
  const handler: UpstreamHandler = {
    onResponse() {},
    onBytes: (bytes) => {
      text += bytes.toString();
    },
    onEnd() {},
    onFailure() {},
  };
  const provider = providerOf(family);
  receipts.watch({ id, route, provider, sessionId: 'session', receiptSecret }, upstream).call(request, handler);
  return text;
};

it('asks for a receipt until it is there, and keeps it with hashes of the exact bytes and none of their content', async () => {
  answers = [
    { status: 404, body: Buffer.alloc(0) },
    { status: 503, body: Buffer.from('x') },
    { status: 200, body: Buffer.from(JSON.stringify({ ...signed, more: 'is left out' })) },
  ];
  const pieces = ['{"id":"chat', 'cmpl-1","choices":[{"message":{"content":"secret answer"}}]}'];
  expect(heard('near', upstreamOf(pieces))).toBe(pieces.join(''));
  await settled;
  expect(asked).toEqual(Array(3).fill('/signature/chatcmpl-1?model=own%2Fmodel&signing_algo=ed25519'));
  expect(waited).toEqual([250, 500, 1000]);
  const sealed = String(await state.readReceipt('provider', receiptIdOf(id)));
  const kept = String(openReceipt(id, sealed));
  expect(JSON.parse(kept)).toEqual({
    provider: 'vault',
    model: 'm/one',
    family: 'near',
    session_id: 'session',
    request_sha256: sha256(request.body),
    response_sha256: sha256(pieces.join('')),
    ...signed,
    signature_kind: 'provider_tee',
  });
  expect(kept).not.toContain('secret');
  const own = String(await state.readReceipt('provider', receiptIdOf(receiptSecret)));
  expect(openReceipt(receiptSecret, own)).toBe(kept);
  expect(await state.readReceipt('provider', id)).toBeUndefined();
});

it('asks Venice at its own path', async () => {
  answers = [{ status: 200, body: Buffer.from(JSON.stringify(signed)) }];
  heard('venice', upstreamOf(['data: {"id":"v-1"}\n\n']));
  await settled;
  expect(asked).toEqual(['/tee/signature?model=own%2Fmodel&request_id=v-1']);
});

it('gives up a receipt that never comes', async () => {
  heard('near', upstreamOf(['{"id":"chatcmpl-1"}']));
  await settled;
  await new Promise(setImmediate);
  expect(waited).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 30_000]);
  expect(await state.readReceipt('provider', receiptIdOf(id))).toBeUndefined();
});

it.each<[string, string, Upstream]>([
  ['a family that gives none', 'tinfoil', upstreamOf(['{"id":"x"}'])],
  ['an answer without an id in clear', 'near', upstreamOf(['{"e2e":"…"}'])],
  ['an id that could be a path', 'near', upstreamOf(['{"id":"../../x"}'])],
  ['an answer that failed', 'near', upstreamOf(['{"id":"x"}'], 500)],
])('asks for no receipt after %s', async (_, family, upstream) => {
  heard(family, upstream);
  await new Promise(setImmediate);
  expect({ asked, waited }).toEqual({ asked: [], waited: [] });
});
