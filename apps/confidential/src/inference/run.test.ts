import { EventEmitter } from 'node:events';
import type { Route } from '@sotto/router';
import { createApiKey } from '@sotto/state';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import type { AdmissionQuestion } from '../admission/admit.ts';
import { Exchange } from '../admission/exchange.ts';
import { Deadlines } from '../attempts/deadline.ts';
import { servedByTokens } from '../settlement/served.ts';
import type { InferenceDependencies } from './deps.ts';
import type { Operation, WholeOutput } from './operation.ts';
import { run } from './run.ts';

const route = {
  ...{ id: 'm@a', modelId: 'm', providerId: 'a', publicProviderId: 'a', privacyClass: 'private' },
  price: { input: 1000n, output: 1000n },
} as unknown as Route;
const bounds = { promptTokens: 100, completionTokens: 100 };
const rate = { limitRequests: 9, remainingRequests: 8, limitTokens: 9, remainingTokens: 8, resetMs: 1 };

/** Throws at the n-th step that a request takes after its hold was placed. */
class Faults {
  readonly #at: number;
  #steps = 0;
  isHeld = false;

  constructor(at: number) {
    this.#at = at;
  }

  get haveHappened(): boolean {
    return this.#steps >= this.#at;
  }

  step(): void {
    if (!this.isHeld) return;
    this.#steps += 1;
    if (this.#steps === this.#at) throw new Error('injected');
  }

  /** Returns the same object, with every call of a function counted as a step. */
  within<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (from, name) => {
        const value: unknown = Reflect.get(from, name);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          this.step();
          return Reflect.apply(value, from, args);
        };
      },
    });
  }
}

/** Serves one request with a fault at its n-th step. Returns what became of the hold. */
async function serveWithFault(at: number) {
  const faults = new Faults(at);
  const settled: { readonly holdId: string; readonly chargeNusd: bigint }[] = [];
  const placed: string[] = [];
  const freed: number[] = [];
  const holds = {
    redeem: async ({ holdId }: { holdId: string }) => {
      placed.push(holdId);
      faults.isHeld = true;
      return { result: 'admitted', month: '2026-11', rate };
    },
    handOver: async (settlement: (typeof settled)[number]) => void settled.push(settlement),
  };
  const key = createApiKey('inference');
  const record = { kind: 'inference', openaiCompatible: true, accountRef: 'account', preferences: {} };
  const silent = {
    ...{ admitted() {}, failed() {}, served() {}, brokeOff() {}, answering() {}, streamed() {} },
    ...{ firstChunk() {}, called() {}, answered() {} },
  };
  const trace = { step() {}, end() {} };
  const deps = {
    admission: {
      state: { peek: async () => rate },
      keys: { find: async () => ({ keyHash: 'hash', key: { record, generation: 1, shard: 1 } }) },
      holds,
      view: faults.within({
        catalog: { digest: 'digest' },
        status: () => ({}),
        outputIn: () => 50,
        punish() {},
      }),
      random: () => 0,
    },
    settlement: faults.within({ holds, macKey: Buffer.alloc(32), now: () => 0, onExcess() {} }),
    providers: faults.within({ get: () => ({ entry: { timeouts: {} }, upstream: {} }) }),
    deadlines: faults.within(new Deadlines()),
    pacing: { keepAliveMs: undefined, headersAfterMs: undefined },
    measurements: faults.within({ add() {} }),
    events: faults.within({ request() {}, attemptFailed() {} }),
    meter: faults.within(silent),
    traces: { begin: () => faults.within(trace) },
    now: () => {
      faults.step();
      return 0;
    },
    monotonicNow: () => {
      faults.step();
      return 0;
    },
    randomId: () => 'id',
  } as unknown as InferenceDependencies;
  const question = {
    needs: { encrypted: false },
    size: { promptTokensAtMost: 100, promptTokensLikely: 10, maxOutputTokens: 100 },
    bindings: { operation: 'chat', model: 'm', provider: undefined, reasoning: {} },
    plan: () => ({ ok: true, value: { routes: [route], maxAttempts: 1, autoModelIds: new Set(), shares: [] } }),
    holdOf: () => 1_000_000n,
    ...faults.within({ bounds: () => bounds, forget() {} }),
  } as unknown as AdmissionQuestion;
  const questions = faults.within(question);
  const operation: Operation = {
    name: 'chat',
    read: () => questions,
    attempt() {
      faults.step();
      return { result: Promise.resolve({ ok: true, success: faults.within(output) }), abort: () => {} };
    },
    abandoned: () => servedByTokens(question, route, { producedBytes: 0 }),
  };
  const output: WholeOutput = {
    served: () => servedByTokens(question, route, { producedBytes: 40 }),
    pieces: () => ['{}'],
    measured: () => ({ kind: 'answered', ttftMs: 1 }),
  };
  const raw = Object.assign(new EventEmitter(), { writeHead() {}, end() {}, destroy() {}, writableEnded: false });
  const request = { headers: { authorization: `Bearer ${key}` }, id: 'request' } as unknown as FastifyRequest;
  const reply = { raw, request, sent: false, header() {}, hijack() {} } as unknown as FastifyReply;
  const exchange = new Exchange(request, reply);
  exchange.freeMemory = () => void freed.push(settled.length);
  const served = run(deps, operation, exchange);
  const error: unknown = await served.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { faults, error, placed, settled, freed };
}

describe('a hold', () => {
  it('is settled exactly once, whichever step throws', async () => {
    let steps = 0;
    let charged = 0;
    for (;;) {
      const { faults, error, placed, settled, freed } = await serveWithFault(steps + 1);
      expect(placed).toHaveLength(1);
      expect(settled.map(({ holdId }) => holdId)).toEqual(placed);
      if (settled[0]?.chargeNusd !== 0n) charged += 1;
      if (!faults.haveHappened) {
        expect(error).toBeUndefined();
        // The content is let go of before the settlement, once the attempt has output.
        expect(freed).toEqual([0]);
        break;
      }
      expect(error).toMatchObject({ message: 'injected' });
      steps += 1;
    }
    // Fewer steps would mean that the faults no longer reach the request. Faults after the settlement still charge.
    expect(steps).toBeGreaterThan(15);
    expect(charged).toBeGreaterThan(1);
    expect(charged).toBeLessThan(steps);
  });
});
