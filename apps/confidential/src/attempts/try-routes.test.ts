import type { Route } from '@sotto/router';
import { describe, expect, it } from 'vitest';
import type { CallableProvider, ProviderSet } from '../providers/provider-set.ts';
import type { AttemptFailure } from './attempt.ts';
import { type Deadline, Deadlines } from './deadline.ts';
import { tryRoutes } from './try-routes.ts';

const provider = { entry: { timeouts: { first_byte_ms: 1000 } } } as CallableProvider;
const providers = { get: () => provider } as unknown as ProviderSet;
const client = { hasLeft: false, onLeft() {} };
const routes = ['a', 'b'].map((providerId) => ({ id: `m@${providerId}`, providerId }) as Route);
const fixed = {
  ...{ routes, encrypted: false, providers },
  onAttempt() {},
  onFailed() {},
  now: () => 0,
  monotonicNow: () => 0,
};

/** Tries the routes. Each attempt ends with `failure`. */
async function run(deadlines: Deadlines, failure: Promise<AttemptFailure>, onFailed = (_: Deadline): void => {}) {
  const begun: string[] = [];
  const aborted: string[] = [];
  const deadline = deadlines.open(60_000);
  const tried = await tryRoutes<never>({
    ...fixed,
    ...{ client, deadline, onFailed: () => onFailed(deadline) },
    attempt(route) {
      begun.push(route.id);
      const result = failure.then((found) => ({ ok: false, ...found }) as const);
      return { result, abort: () => void aborted.push(route.id) };
    },
  });
  deadline.clear();
  return { begun, aborted, error: tried.end === 'refused' ? tried.error : undefined };
}
const never = new Promise<AttemptFailure>(() => {});

describe('tryRoutes during a shutdown', () => {
  it('calls no provider for a request that comes now, which may be retried', async () => {
    const deadlines = new Deadlines();
    deadlines.shutDown();
    const { begun, error } = await run(deadlines, never);
    expect(begun).toEqual([]);
    expect(error).toMatchObject({ type: 'service_unavailable', mustNotRetry: false });
  });

  it('calls no further provider, and says whether an earlier one may have worked', async () => {
    for (const [outcome, mustNotRetry] of [
      ['network_failure', true],
      ['server_error', false],
      ['rate_limited', false],
    ] as const) {
      const deadlines = new Deadlines();
      const { begun, error } = await run(deadlines, Promise.resolve({ outcome }), () => deadlines.shutDown());
      expect([begun, error]).toMatchObject([['m@a'], { type: 'service_unavailable', mustNotRetry }]);
    }
  });

  it('aborts the running attempt, which may have worked', async () => {
    const deadlines = new Deadlines();
    setImmediate(() => deadlines.shutDown());
    const { begun, aborted, error } = await run(deadlines, never);
    expect([begun, aborted]).toEqual([['m@a'], ['m@a']]);
    expect(error).toMatchObject({ type: 'service_unavailable', mustNotRetry: true });
  });
});

it.each([
  ['rate_limited', 'rate_limited', false],
  ['server_error', 'provider_error', false],
  ['network_failure', 'provider_error', true],
] as const)(
  'tryRoutes calls no further provider if the time ended when one failed: its %s is the error',
  async (outcome, type, mustNotRetry) => {
    const outOfTime = (deadline: Deadline) => deadline.expire('out_of_time');
    const { begun, error } = await run(new Deadlines(), Promise.resolve({ outcome }), outOfTime);
    expect([begun, error]).toMatchObject([['m@a'], { type, mustNotRetry }]);
  },
);

it.each([
  ['was never sent', { outcome: 'network_failure' }, false, false],
  ['was sent', { outcome: 'network_failure' }, true, true],
  ['was answered', { outcome: 'malformed_answer', status: 302 }, false, true],
] as const)(
  'tells a client whether to repeat a request that %s when it failed',
  async (_, failure, hasBegun, mustNotRetry) => {
    const deadline = new Deadlines().open(60_000);
    const result = Promise.resolve({ ok: false, ...failure } as const);
    const attempt = () => ({ result, hasBegun: () => hasBegun, abort() {} });
    const tried = await tryRoutes<never>({ ...fixed, client, deadline, attempt });
    deadline.clear();
    expect(tried).toMatchObject({ end: 'refused', error: { mustNotRetry } });
  },
);

// The plan chose a route by an entry of the registry. A reload closes the connections of an entry that it changes. The provider has not
// failed then, and the new entry may have another privacy class.
it('passes over a provider that a reload of the registry has changed', async () => {
  const deadline = new Deadlines().open(60_000);
  const changed = new Map([
    ['a', provider],
    ['b', provider],
    ['c', provider],
  ]);
  const tried: string[] = [];
  const failed: string[] = [];
  const result = await tryRoutes<string>({
    ...{ ...fixed, client, deadline, providers: { get: (id: string) => changed.get(id) } as unknown as ProviderSet },
    routes: ['a', 'b', 'c'].map((providerId) => ({ id: `m@${providerId}`, providerId }) as Route),
    onFailed: ({ id }) => void failed.push(id),
    attempt({ id }) {
      tried.push(id);
      changed.set('b', { ...provider });
      const ended = id === 'm@c' ? { ok: true, success: id } : { ok: false, outcome: 'server_error' };
      return { result: Promise.resolve(ended as never), abort() {} };
    },
  });
  deadline.clear();
  expect([result.end, tried, failed]).toEqual(['served', ['m@a', 'm@c'], ['m@a']]);
});

describe('tryRoutes, if the request ends during its first attempt', () => {
  const endDuring = async (hasBegun: boolean | undefined, end: 'client_left' | 'shut_down' | 'out_of_time') => {
    const deadlines = new Deadlines();
    const deadline = deadlines.open(end === 'out_of_time' ? 1 : 60_000);
    let leave = (): void => {};
    const tried = tryRoutes<never>({
      ...fixed,
      deadline,
      client: {
        hasLeft: false,
        onLeft(callback) {
          leave = callback ?? leave;
        },
      },
      attempt: () => ({
        result: new Promise(() => {}),
        ...(hasBegun !== undefined && { hasBegun: () => hasBegun }),
        abort() {},
      }),
    });
    if (end === 'client_left') leave();
    if (end === 'shut_down') deadlines.shutDown();
    const ended = await tried;
    deadline.clear();
    return ended;
  };

  it.each([
    ['has begun', true, true],
    ['begins at once', undefined, true],
    ['has not begun', false, false],
  ] as const)(
    'tells whether a provider may have worked for it, for an attempt that %s',
    async (_name, hasBegun, worked) => {
      const abandoned = worked ? { route: routes[0], tookMs: 0 } : undefined;
      expect(await endDuring(hasBegun, 'client_left')).toEqual({ end: 'client_left', abandoned });
      for (const end of ['shut_down', 'out_of_time'] as const) {
        expect(await endDuring(hasBegun, end)).toMatchObject({ end: 'refused', error: { mustNotRetry: worked } });
      }
    },
  );
});
