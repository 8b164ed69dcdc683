import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { receiptSchema } from '@sotto/attestation';
import { openReceipt, type ReceiptPort } from '@sotto/state';
import { describe, expect, it } from 'vitest';
import { makeReceiptKey } from '../gateway/receipt-key.ts';
import { Patience } from '../settlement/patience.ts';
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

function followed(keepReceipt: ReceiptPort['keepReceipt'], patience = new Patience()) {
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
  const receipt = new RequestReceipt(deps, { secret, operation: 'chat', body: Buffer.from('{}') });
  const response = new Response();
  receipt.follow(response as unknown as ServerResponse, patience);
  const opened = (sealed: string): unknown => JSON.parse(openReceipt(secret, sealed) ?? '');
  return { kept: () => kept.map((sealed) => receiptSchema.parse(opened(sealed))), response };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a receipt under way', () => {
  it('is kept before the end leaves, which waits for that and no longer', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { kept, response } = followed(() => promise);
    expect(response.write('Grüße', 'latin1')).toBe(false);
    response.end('!');
    await turn();
    expect(kept()).toHaveLength(1);
    expect(response.ended).toBe(false);
    resolve();
    await turn();
    expect(response.ended).toBe(true);
    expect(response.written).toEqual(['Grüße', '!']);
  });

  it('is given up where the state is away: the answer ends all the same, and in time', async () => {
    const failing = followed(() => Promise.reject(new Error('away')));
    failing.response.end();
    await turn();
    expect(failing.response.ended).toBe(true);
    const hanging = followed(() => new Promise(() => {}));
    const begunAt = performance.now();
    hanging.response.end();
    while (!hanging.response.ended) await turn();
    expect(performance.now() - begunAt).toBeLessThan(1000);
  });

  it('has what is left of the patience that the settlement did not use up', async () => {
    const patience = new Patience();
    await patience.wait(new Promise(() => {}));
    const { response } = followed(() => new Promise(() => {}), patience);
    const begunAt = performance.now();
    response.end();
    while (!response.ended) await turn();
    expect(performance.now() - begunAt).toBeLessThan(150);
  });

  it('is signed once: what closes afterwards changes nothing', async () => {
    const { kept, response } = followed(async () => {});
    response.end('x');
    await turn();
    response.emit('close');
    expect(kept()).toMatchObject([{ complete: true, issued_at: 1_795_000_020, attempts: [] }]);
  });

  it('of an answer that is cut says that it is not complete', () => {
    const { kept, response } = followed(async () => {});
    response.write('half');
    response.emit('close');
    expect(kept()).toMatchObject([{ complete: false }]);
  });
});
