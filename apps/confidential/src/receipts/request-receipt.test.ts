import { hash } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { receiptSchema } from '@sotto/attestation';
import type { Upstream, UpstreamHandler } from '@sotto/providers';
import type { Route } from '@sotto/router';
import { openReceipt, type ReceiptPort } from '@sotto/state';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ClientLink } from '../answers/client-link.ts';
import { makeReceiptKey } from '../gateway/key-set-keeper.ts';
import { Patience, patienceMs, type RequestBill } from '../settlement/request-settlement.ts';
import { RequestReceipt } from './request-receipt.ts';

class Response extends EventEmitter {
  statusCode = 200;
  readonly written: unknown[] = [];
  ended = false;

  write(piece: unknown, _encoding?: string): boolean {
    this.written.push(piece);
    return false;
  }

  end(piece?: unknown): this {
    if (piece !== undefined) this.written.push(piece);
    this.ended = true;
    this.emit('close');
    return this;
  }
}

const secret = '0'.repeat(64);
const route = { publicProviderId: 'vault', modelId: 'm/one', upstreamModel: 'own', privacyClass: 'tee' } as Route;

function followed(keepReceipt: ReceiptPort['keepReceipt'], patience = new Patience(), bill?: RequestBill) {
  const kept: string[] = [];
  const state: ReceiptPort = {
    keepReceipt(kind, id, document, ttlMs) {
      kept.push(document);
      return keepReceipt(kind, id, document, ttlMs);
    },
    readReceipt: async () => undefined,
  };
  const now = () => 1_795_000_059_999;
  const deps = { state, signer: makeReceiptKey().signer, registryDigest: `sha256:${'0'.repeat(64)}`, now };
  const body = Buffer.from('{}');
  const receipt = new RequestReceipt(deps, { secret, operation: 'chat', body, billed: () => bill, patience });
  const response = new Response();
  const client = new ClientLink(response as unknown as ServerResponse);
  client.witness = receipt;
  receipt.follow(response as unknown as ServerResponse);
  const opened = (sealed: string): unknown => JSON.parse(openReceipt(secret, sealed) ?? '');
  return { kept: () => kept.map((sealed) => receiptSchema.parse(opened(sealed))), receipt, client, response };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a receipt under way', () => {
  it('is kept before the end of the answer leaves, which waits only for that', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { kept, client, response } = followed(() => promise);
    expect(client.write('Grüße')).toBe(false);
    client.end('!');
    await turn();
    expect(kept()).toHaveLength(1);
    expect(response.ended).toBe(false);
    resolve();
    await turn();
    expect(response.ended).toBe(true);
    expect(response.written).toEqual(['Grüße', '!']);
  });

  it('states the charge with its usage, its price and its catalog, and null if there is no charge', async () => {
    const usage = { promptTokens: 7, cachedTokens: 2, cacheWriteTokens: 1, completionTokens: 3, reasoningTokens: 1 };
    const tiers = [{ abovePromptTokens: 1000, input: 9, cachedInput: 4 }];
    const price = {
      input: 500_000,
      output: 1_500_000,
      cachedInput: 50_000,
      cacheWrite: 625_000,
      reasoning: 2_000_000,
      tiers,
    };
    const bill: RequestBill = { usage, price, chargeNusd: 8000n, estimated: true, catalogDigest: 'c'.repeat(64) };
    const billed = followed(async () => {}, new Patience(), bill);
    billed.client.end('!');
    expect(billed.kept()[0]?.bill).toEqual({
      catalog_digest: `sha256:${'c'.repeat(64)}`,
      usage: {
        prompt_tokens: 7,
        cached_tokens: 2,
        cache_write_tokens: 1,
        completion_tokens: 3,
        reasoning_tokens: 1,
        images: 0,
        input_characters: 0,
      },
      estimated: true,
      price: {
        input: 500_000,
        output: 1_500_000,
        cached_input: 50_000,
        cache_write: 625_000,
        reasoning: 2_000_000,
        tiers: [{ above_prompt_tokens: 1000, input: 9, cached_input: 4 }],
      },
      charge_nusd: '8000',
    });
    const unbilled = followed(async () => {});
    unbilled.client.end('!');
    expect(unbilled.kept()[0]?.bill).toBeNull();
  });

  it('is given up if the state is unavailable: the answer still ends', async () => {
    const { client, response } = followed(() => Promise.reject(new Error('away')));
    client.end();
    await turn();
    expect(response.ended).toBe(true);
  });

  describe('if the state does not answer', () => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    });
    afterEach(() => {
      vi.useRealTimers();
    });

    it.each([
      ['is waited for as long as patience lasts', 0, patienceMs],
      ['is waited for only as long as the settlement has left over', 200, patienceMs - 200],
    ])('%s', async (_name, spentMs, leftMs) => {
      const patience = new Patience();
      const settled = patience.wait(new Promise((resolve) => setTimeout(resolve, spentMs)));
      await vi.advanceTimersByTimeAsync(spentMs);
      await settled;
      const { client, response } = followed(() => new Promise(() => {}), patience);
      client.end();
      await vi.advanceTimersByTimeAsync(leftMs - 1);
      expect(response.ended).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect(response.ended).toBe(true);
    });
  });

  it('is signed once: a later close changes nothing', async () => {
    const { kept, client, response } = followed(async () => {});
    client.end('x');
    await turn();
    response.emit('close');
    expect(kept()).toMatchObject([{ complete: true, issued_at: 1_795_000_020, attempts: [] }]);
  });

  it('says of a truncated answer that it is not complete', () => {
    const { kept, client, response } = followed(async () => {});
    client.write('half');
    response.emit('close');
    expect(kept()).toMatchObject([{ complete: false }]);
  });

  it('takes no more bytes once it is kept, while the provider goes on for a client that left', async () => {
    const { kept, receipt, client, response } = followed(async () => {});
    let provider: UpstreamHandler | undefined;
    const upstream: Pick<Upstream, 'call'> = {
      call(_request, handler) {
        provider = handler;
        return { hasBegun: true, abort() {}, pause() {}, resume() {} };
      },
    };
    const heard: string[] = [];
    const request = { path: '/chat/completions', body: '{}', accept: 'text/event-stream' };
    receipt.witness(upstream as Upstream, route, undefined).call(request, {
      onResponse() {},
      onBytes: (bytes) => void heard.push(bytes.toString()),
      onEnd() {},
      onFailure() {},
    });
    provider?.onBytes(Buffer.from('before'));
    response.emit('close');
    provider?.onBytes(Buffer.from('after'));
    client.end('after');
    await turn();
    expect(heard).toEqual(['before', 'after']);
    expect(kept()).toMatchObject([{ complete: false, attempts: [{ answered_sha256: hash('sha256', 'before') }] }]);
  });
});
