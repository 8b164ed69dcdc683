import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { type Balancer, balancerSkipReason, hasBalancer, startBalancer } from '../../kit/balancer.ts';
import { operatorAccount, usageOf } from '../../kit/books.ts';
import { bearer } from '../../kit/client.ts';
import { expectFair, startLoad, untilThereIsTime } from '../../kit/load.ts';
import { peopleOf } from '../../kit/people.ts';
import type { TestProcess } from '../../kit/plane.ts';
import { type Act, scripted } from '../../kit/scripted-provider.ts';
import { get, post } from '../../kit/send.ts';
import type { Service } from '../../kit/service.ts';
import { noteSkip } from '../../kit/skips.ts';
import { type Stage, setStage } from '../../kit/stage.ts';
import { until } from '../../kit/until.ts';
import { secretRounds } from './secret-rounds.ts';

/** Two brokers and two controls, each pair behind a balancer. Clients know only the balancers. */
interface BalancedStage extends Stage {
  /** With the balancers' addresses. */
  readonly service: Service;
  readonly brokers: readonly TestProcess[];
  readonly controls: readonly TestProcess[];
  /** Ends each process by SIGTERM and restarts it, one after the other. Returns the exit codes. */
  roll(planes: readonly TestProcess[], how?: Rolled): Promise<(number | null)[]>;
}

interface Rolled {
  readonly changes?: Readonly<Record<string, string | undefined>>;
  readonly beforeEach?: () => void;
}

/**
 * How long a terminating plane continues to serve. The balancer notices at the next check, within a quarter of a second. The rest is for
 * a busy machine.
 */
const drain = { DRAIN_DELAY_S: '5', DRAIN_TIMEOUT_S: '20' };

/** Undefined if Redis or HAProxy is not available. The run then reports that it skipped `what`. */
async function setBalancedStage(what: string): Promise<BalancedStage | undefined> {
  if (!hasBalancer()) {
    noteSkip(what, balancerSkipReason);
    return undefined;
  }
  const stage = await setStage(what, { environment: drain, limitMs: 60_000 });
  if (stage === undefined) return undefined;
  const { service } = stage;
  const broker = await service.addBroker();
  const control = await service.addControl();
  const balancers: Balancer[] = [];
  const balanced = async (urls: readonly string[]): Promise<string> => {
    const balancer = await startBalancer(urls.map((url) => new URL(url).origin));
    balancers.push(balancer);
    return `${balancer.origin}/v1`;
  };
  return {
    ...stage,
    service: {
      ...service,
      baseUrl: await balanced([service.baseUrl, broker.baseUrl]),
      controlUrl: await balanced([service.controlUrl, control.controlUrl]),
    },
    brokers: [service.broker, broker.process],
    controls: [service.control, control.process],
    async roll(planes, { changes = {}, beforeEach = () => {} } = {}) {
      const codes: (number | null)[] = [];
      for (const plane of planes) {
        beforeEach();
        codes.push(await plane.terminate());
        await plane.restart(changes);
        for (const balancer of balancers) await balancer.hasAll();
      }
      return codes;
    },
    async stop() {
      for (const balancer of balancers) await balancer.stop();
      await stage.stop();
    },
  };
}

describe('a rolling restart', () => {
  let stage: BalancedStage | undefined;

  beforeAll(async () => {
    stage = await setBalancedStage('a rolling restart of two brokers and two controls behind HAProxy');
  });
  afterAll(async () => {
    await stage?.stop();
  });

  it('two brokers and two controls are restarted one by one under load: no request and no stream is lost', async (context) => {
    if (stage === undefined) return context.skip('no Redis, or no HAProxy');
    const { service, account, brokers, controls, roll } = stage;
    const other = await service.createAccount({ usd: 10 });
    const long: Promise<Answer>[] = [];
    const usage = usageOf(7, 30);
    /** Begins streams of nine seconds, which a terminating plane must let finish. */
    const beginStreams = (): void => {
      for (let index = 0; index < 4; index += 1) {
        const act = { kind: 'answer', usage, pieces: 30, pieceMs: 300 } as const;
        const messages = [{ role: 'user', content: scripted({ '*': act }, `long ${long.length}`) }];
        const body = { model: 'm/one', stream: true, messages, max_completion_tokens: 100 };
        long.push(
          untilThereIsTime(() => post(`${service.baseUrl}/chat/completions`, body, bearer(other.inferenceKey))),
        );
      }
    };

    const load = startLoad(stage, { everyMs: 60, sendsAgain: true });
    await load.reach(20);
    const codes = [
      ...(await roll(brokers, { beforeEach: beginStreams })),
      ...(await roll(controls)),
      ...(await roll(brokers, { beforeEach: beginStreams })),
    ];
    const sent = await load.stop();

    expect(codes).toEqual([0, 0, 0, 0, 0, 0]);
    const told = ({ status, ended, text }: Answer): string => `${status} ${ended} ${text.slice(-200)}`;
    expect(
      sent.filter(({ called }) => !called.complete).map(({ index, called }) => `${index}: ${told(called)}`),
    ).toEqual([]);
    expect((await Promise.all(long)).filter(({ complete }) => !complete).map(told)).toEqual([]);
    expect(sent.length).toBeGreaterThan(300);
    await expectFair(stage, sent);
    // Each of the long streams costs the same.
    expect(await service.settled(other)).toBe(10n ** 10n - BigInt(long.length) * (7n * 1000n + 30n * 3000n));
    expect(await service.settled(account)).toBeGreaterThan(0n);
    expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
  }, 240_000);

  it('a terminating plane says so while it still serves, and asks its clients to reconnect elsewhere', async (context) => {
    if (stage === undefined) return context.skip('no Redis, or no HAProxy');
    const direct = await stage.service.addBroker();
    const origin = new URL(direct.baseUrl).origin;
    const models = (): Promise<Response> =>
      fetch(`${direct.baseUrl}/models`, { headers: bearer(stage?.account.inferenceKey ?? '') });
    // Terminates slowly enough for the test to look on a busy machine.
    await direct.process.terminate();
    await direct.process.restart({ DRAIN_DELAY_S: '6' });
    expect((await models()).headers.get('connection')).not.toBe('close');
    const ended = direct.process.terminate();
    await until(async () => (await fetch(`${origin}/readyz`)).status === 503, 'it says that it goes', 3000);
    const ready = await fetch(`${origin}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([503, { status: 'not_ready' }]);
    expect(ready.headers.get('connection')).toBe('close');
    const served = await models();
    expect([served.status, served.headers.get('connection')]).toEqual([200, 'close']);
    expect(await ended).toBe(0);
    await expect(models()).rejects.toThrow();
  });

  it('a stream that outlasts the drain delay ends whole', async (context) => {
    if (stage === undefined) return context.skip('no Redis, or no HAProxy');
    const { account } = stage;
    const direct = await stage.service.addBroker();
    const ask = (pieceMs: number): Promise<Answer> => {
      const act = { kind: 'answer', usage: usageOf(7, 8), pieces: 10, pieceMs } as const;
      const messages = [{ role: 'user', content: scripted({ '*': act }, `kept ${pieceMs}`) }];
      const body = { model: 'm/one', stream: true, messages, max_completion_tokens: 100 };
      return post(`${direct.baseUrl}/chat/completions`, body, bearer(account.inferenceKey));
    };
    const running = ask(700);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const ended = direct.process.terminate();
    const answered = await running;
    expect(answered.complete, answered.text.slice(-300)).toBe(true);
    expect(answered.error).toBeUndefined();
    expect(await ended).toBe(0);
  });

  it('a request that still runs when the drain time is over ends with an error message, and free', async (context) => {
    if (stage === undefined) return context.skip('no Redis, or no HAProxy');
    const { service } = stage;
    const account = await service.createAccount({ usd: 10 });
    const direct = await service.addBroker();
    await direct.process.terminate();
    await direct.process.restart({ DRAIN_DELAY_S: '0', DRAIN_TIMEOUT_S: '2' });
    const ask = (act: Act, stream: boolean): Promise<Answer> => {
      const messages = [{ role: 'user', content: scripted({ '*': act }, `cut ${stream}`) }];
      const body = { model: 'm/one', stream, messages, max_completion_tokens: 1000 };
      return post(`${direct.baseUrl}/chat/completions`, body, bearer(account.inferenceKey));
    };
    const { seen } = stage.provider;
    const before = seen.length;
    const usage = usageOf(7, 300);
    const streaming = ask({ kind: 'answer', usage, pieces: 300, pieceMs: 100 }, true);
    const silent = [true, false].map((stream) => ask({ kind: 'answer', usage, delayMs: 60_000 }, stream));
    await until(() => seen.length === before + 3, 'the provider is asked by all');
    const code = await direct.process.terminate();

    const broken = await streaming;
    expect([broken.status, broken.complete, broken.ended]).toEqual([200, false, 'answered']);
    const last = JSON.parse(
      broken.text
        .trim()
        .split('\n\n')
        .at(-1)
        ?.replace(/^data: /, '') ?? '',
    );
    expect(last).toMatchObject({
      object: 'chat.completion.chunk',
      choices: [{ finish_reason: 'error' }],
      error: { type: 'service_unavailable', message: expect.stringContaining('restarted') },
    });
    for (const { status, headers, text } of await Promise.all(silent)) {
      expect([status, JSON.parse(text).error.type]).toEqual([503, 'service_unavailable']);
      // The provider may have begun to work, so a retry may make it work twice.
      expect([headers.get('retry-after'), headers.get('x-should-retry')]).toEqual(['1', 'false']);
    }
    expect(code).toBe(0);
    expect(await service.settled(account)).toBe(10n ** 10n);
    expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
  });
});

describe('the rotation of secrets', () => {
  let stage: BalancedStage | undefined;

  beforeAll(async () => {
    stage = await setBalancedStage('secrets that are exchanged under load');
  });
  afterAll(async () => {
    await stage?.stop();
  });

  /** Control refreshes its projection every two seconds, a page at a time. Here all records fit on one page. */
  const refreshedMs = 6000;

  it('every secret is rotated in three rounds under load, and no client is affected', async (context) => {
    if (stage === undefined) return context.skip('no Redis, or no HAProxy');
    const { service, account, brokers, controls, roll } = stage;
    const rounds = secretRounds(service, async (changes) => {
      expect(await roll(brokers, { changes: changes.broker })).toEqual([0, 0]);
      expect(await roll(controls, { changes: changes.control })).toEqual([0, 0]);
    });
    const { url, signUp } = peopleOf(stage);
    const { session } = await signUp();
    const statusOfSession = async (): Promise<number> => (await get(url('/keys'), session)).status;
    const load = startLoad(stage, { everyMs: 80, sendsAgain: true });
    await load.reach(10);

    await rounds.accept();
    const early = await Promise.all(
      Array.from({ length: 10 }, () => service.mintTicket(account.inferenceKey, { model: 'm/one' })),
    );
    await rounds.use();
    for (const [index, { ticket }] of early.entries()) {
      const act = { kind: 'answer', usage: usageOf(7, 40 + index) } as const;
      const messages = [{ role: 'user', content: scripted({ '*': act }, `early ${index}`) }];
      const body = { model: 'm/one', messages, max_completion_tokens: 100 };
      const answered = await post(`${service.baseUrl}/chat/completions`, body, { 'x-router-ticket': ticket });
      expect(answered.status, answered.text).toBe(200);
    }
    expect(await statusOfSession()).toBe(200);
    await pause(refreshedMs);
    await rounds.forget();
    expect(await statusOfSession()).toBe(401);
    await load.reach(load.begun + 20);
    const sent = await load.stop();

    expect(
      sent
        .filter(({ called }) => !called.complete)
        .map(({ index, called }) => `${index}: ${called.status} ${called.text.slice(-200)}`),
    ).toEqual([]);
    await expectFair(stage, sent);
    const { rows } = await service.pool.query('select count(*)::int as count from rejected_settlements');
    expect(rows).toEqual([{ count: 0 }]);
    expect(await operatorAccount(service, 'suspense')).toBe(0n);
    await service.settled(account);
    expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
  }, 360_000);
});
