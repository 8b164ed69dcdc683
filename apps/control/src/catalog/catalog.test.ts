import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measurementsAnswerSchema, statusAnswerSchema, uptimeAnswerSchema } from '@sotto/contract/control/catalog';
import { type MeasuredAttempt, MeasurementTallies, MeasurementWindow, type Model, type Route } from '@sotto/router';
import { createMemoryState, MemoryStore } from '@sotto/state';
import { afterAll, describe, expect, it } from 'vitest';
import { measurementsOf, statusOf, uptimeOf } from './catalog.ts';
import { CatalogKeeper } from './catalog-keeper.ts';
import { PlaneUptime, planesOf } from './plane-uptime.ts';

const hour = 480_000;
const model: Model = {
  ...{ id: 'lab/one', name: 'One', type: 'text', contextLength: undefined, maxOutputTokens: undefined, auto: true },
  routes: [
    { id: 'lab/one@acme', publicProviderId: 'acme', privacyClass: 'private' },
    { id: 'lab/one@acme/eu', publicProviderId: 'acme/eu', privacyClass: 'tee' },
    { id: 'lab/one@hidden', publicProviderId: 'other', privacyClass: 'anonymous' },
    { id: 'lab/one@shadow', publicProviderId: 'other', privacyClass: 'anonymous' },
  ].map((known) => known as Route),
};

type Counted = readonly [hour: number, routeId: string, times: number, attempt: MeasuredAttempt];

function windowOf(...counted: readonly Counted[]): MeasurementWindow {
  const tallies = new MeasurementTallies(() => 'one');
  for (const [at, routeId, times, attempt] of counted) {
    for (let count = 0; count < times; count += 1) tallies.count(at, routeId, attempt);
  }
  const window = new MeasurementWindow(hour);
  for (let batch = tallies.take(100); batch; batch = tallies.take(100)) {
    for (const [routeId, record] of batch.records) window.put(batch.hour, batch.source, routeId, record);
  }
  return window;
}
/** What a source would publish of these attempts. */
function recordOf([at, routeId, times, attempt]: Counted): string {
  const tallies = new MeasurementTallies(() => 'two');
  for (let count = 0; count < times; count += 1) tallies.count(at, routeId, attempt);
  return tallies.take(1)?.records.get(routeId) ?? '';
}
const routesOf = (window: MeasurementWindow) => uptimeAnswerSchema.parse(uptimeOf(model, window)).routes;
const fast = { success: true, ttftMs: 100, tokensPerSecond: 80 };
const nothing = { success_rate: null, ttft_ms: null, throughput_tps: null };

describe('statusOf', () => {
  it('sums up all models of a provider, by hour; unlisted providers are one', () => {
    const other: Model = { ...model, id: 'lab/two', routes: [{ ...model.routes[0], id: 'lab/two@acme' } as Route] };
    const window = windowOf(
      ...([
        [hour, 'lab/one@acme', 15, fast],
        [hour, 'lab/two@acme', 5, { success: false }],
        [hour - 1, 'lab/two@acme', 19, fast],
        [hour, 'lab/one@hidden', 12, fast],
        [hour, 'lab/one@shadow', 12, fast],
      ] as const),
    );
    const { hours, providers } = statusAnswerSchema.omit({ planes: true }).parse(statusOf([model, other], window));
    expect(providers).toMatchObject([
      { provider: 'acme', requests: 39, success_rate: 0.8718 },
      { provider: 'acme/eu', requests: null, success_rate: null },
      { provider: 'other', requests: 24, success_rate: 1 },
    ]);
    expect(providers[0]?.hours.slice(-2)).toMatchObject([
      { requests: null, success_rate: null },
      { requests: 20, success_rate: 0.75 },
    ]);
    expect(hours).toHaveLength(24);
    expect(hours.at(-1)).toMatchObject({ requests: 44, success_rate: 0.8864 });
    expect(JSON.stringify(providers)).not.toMatch(/hidden|shadow/);
  });

  it('counts only the last two hours again', () => {
    const counted = new Map();
    const window = windowOf([hour, 'lab/one@acme', 20, fast], [hour - 5, 'lab/one@acme', 30, fast]);
    const first = statusOf([model], window, counted);
    window.put(hour - 1, 'two', 'lab/one@acme', recordOf([hour - 1, 'lab/one@acme', 27, fast]));
    window.put(hour - 5, 'two', 'lab/one@acme', recordOf([hour - 5, 'lab/one@acme', 7, fast]));
    const requests = ({ hours }: typeof first) => [-6, -2, -1].map((at) => hours.at(at)?.requests);
    expect([requests(first), requests(statusOf([model], window, counted))]).toEqual([
      [30, null, 20],
      [30, 27, 20],
    ]);
    window.advance(hour + 30);
    expect(statusOf([model], window, counted).providers[0]?.requests).toBeNull();
    expect(counted.size).toBe(24);
  });
});

describe('planesOf', () => {
  const first = 60 * (hour - 2) + 30;
  const notes = (at: number, noted: number, control: number, broker: number) => ({
    ...{ hour: at, noted, control, broker, first: at === hour - 2 ? first : at * 60 },
  });
  const lastOf = (planes: ReturnType<typeof planesOf>) =>
    (['control', 'broker'] as const).map((plane) => planes[plane].slice(-4).map(({ ready }) => ready));

  it('knows nothing before the first note, and of the broker nothing while control wrote none', () => {
    const noted = [notes(hour - 2, 30, 30, 15), notes(hour, 10, 8, 10)];
    expect(lastOf(planesOf(noted, hour * 60 + 20))).toEqual([
      [null, 1, 0, 0.4],
      [null, 0.5, null, 1],
    ]);
    expect(planesOf(noted, hour * 60 + 20).control.map(({ at }) => Date.parse(at) / 3_600_000)).toEqual(
      Array.from({ length: 24 }, (_, index) => hour - 23 + index),
    );
  });

  it('does not count a minute that is not over, and nothing before a day', () => {
    expect(lastOf(planesOf([notes(hour - 1, 60, 60, 60)], hour * 60))).toEqual([
      [null, null, 1, null],
      [null, null, 1, null],
    ]);
    expect(lastOf(planesOf([], hour * 60))).toEqual([Array(4).fill(null), Array(4).fill(null)]);
  });
});

const folder = mkdtempSync(join(tmpdir(), 'sotto-test-catalog-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the catalog in force is published again if the state loses it while its file is refused', async () => {
  const store = new MemoryStore(() => 0);
  const state = createMemoryState({ store });
  const provider = { id: 'alpha', name: 'alpha', listed: true, privacy_class: 'private', available: true } as const;
  await state.publishRegistry({ digest: 'd', providers: [provider] });
  const file = join(folder, 'catalog.yaml');
  const refused: string[] = [];
  const events = { catalogRefused: (path: string) => refused.push(path), catalogInForce: () => {} } as never;
  const keeper = new CatalogKeeper({ state, file, events, now: () => 1 });
  const follow = (text: string): Promise<void> => {
    writeFileSync(file, text);
    keeper.reload();
    return keeper.follow();
  };
  const pricing = { input: 1, output: 2 };
  const route = { provider: 'alpha', upstream_model: 'own', privacy_class: 'private', pricing };
  const size = { context_length: 8000, max_output_tokens: 1000 };
  await follow(JSON.stringify({ models: [{ id: 'm/one', model_type: 'text', ...size, routes: [route] }] }));
  await follow('models: [');
  store.catalog = undefined;
  await keeper.follow();
  await keeper.follow();
  expect(await state.readCatalog(0)).toMatchObject({ file: { models: [{ id: 'm/one' }] } });
  expect(refused).toEqual([file, file]);
});

it('a reload that comes while the file of before is put in force is not lost', async () => {
  const file = join(folder, 'reloaded.yaml');
  const routes = [
    { provider: 'alpha', upstream_model: 'own', privacy_class: 'private', pricing: { input: 1, output: 2 } },
  ];
  const write = (id: string): void =>
    writeFileSync(file, JSON.stringify({ models: [{ id, model_type: 'text', context_length: 8000, routes }] }));
  const state = createMemoryState({ store: new MemoryStore(() => 0) });
  const provider = { id: 'alpha', name: 'alpha', listed: true, privacy_class: 'private', available: true } as const;
  await state.publishRegistry({ digest: 'd', providers: [provider] });
  // The interleaving: the file is read, the operator changes it and sends SIGHUP, and only then is the old text kept.
  let meanwhile = (): void => {
    write('m/second');
    keeper.reload();
  };
  const watched = {
    ...state,
    async readCatalog(version: number) {
      meanwhile();
      meanwhile = () => {};
      return state.readCatalog(version);
    },
  };
  const events = { catalogRefused: () => {}, catalogInForce: () => {} } as never;
  const keeper = new CatalogKeeper({ state: watched, file, events, now: () => 1 });
  write('m/first');
  await keeper.follow();
  expect([...(keeper.catalog?.models.keys() ?? [])]).toEqual(['m/first']);
  await keeper.follow();
  expect([...(keeper.catalog?.models.keys() ?? [])]).toEqual(['m/second']);
});

it('a catalog that extends the built-in one has both, and another digest than the file alone', async () => {
  const file = join(folder, 'extends.yaml');
  const text = 'extends: built_in\nmodels: []\n';
  writeFileSync(file, text);
  const state = createMemoryState({ store: new MemoryStore(() => 0) });
  const provider = { id: 'openai', name: 'OpenAI', listed: true, privacy_class: 'private', available: true } as const;
  await state.publishRegistry({ digest: 'd', providers: [provider] });
  const events = { catalogRefused: () => {}, catalogInForce: () => {} } as never;
  const keeper = new CatalogKeeper({ state, file, events, now: () => 1 });
  await keeper.follow();
  const { digest, models } = keeper.requireCatalog();
  expect([...models.keys()]).toContain('openai/gpt-5.4');
  expect([...models.values()].flatMap(({ routes }) => routes.map(({ providerId }) => providerId))).not.toContain(
    'anthropic',
  );
  // Another version of the built-in catalog must not pass for this one.
  expect(digest).not.toBe(createHash('sha256').update(text).digest('hex'));
});

it('the uptime of the planes counts a minute that just ended only once its note is read, or does not come', async () => {
  const rows = [{ hour: hour - 1, noted: 60, control: 60, broker: 60, first: 60 * (hour - 1) }];
  const secondMs = 1000;
  let now = hour * 3_600_000 + 50 * secondMs;
  const ready = async () => true;
  const pool = { query: async () => ({ rows }) } as never;
  const uptime = new PlaneUptime({ pool, isReady: ready, isBrokerReady: ready, now: () => now });
  await uptime.note();
  const shares: (number | null | undefined)[] = [];
  for (const passes of [0, 20, 60]) {
    now += passes * secondMs;
    shares.push(uptime.planes.control.at(-1)?.ready);
  }
  expect(shares).toEqual([null, null, 0]);
});

describe('measurementsOf', () => {
  it('lists the routes with at least 20 requests, as uptime does, and no model without one', () => {
    const slow: Model = { ...model, id: 'lab/two', routes: [{ ...model.routes[0], id: 'lab/two@acme' } as Route] };
    const window = windowOf(
      ...([
        [hour, 'lab/one@acme', 12, fast],
        [hour - 20, 'lab/one@acme', 8, { success: false }],
        [hour, 'lab/one@hidden', 19, fast],
        [hour, 'lab/two@acme', 19, fast],
      ] as const),
    );
    const { data } = measurementsAnswerSchema.parse(measurementsOf([model, slow], window));
    const [{ series, ...first } = { series: [] }] = routesOf(window);
    expect(series).toHaveLength(24);
    expect(first).toMatchObject({ requests: 20, success_rate: 0.6 });
    expect(data).toEqual([{ model: 'lab/one', routes: [first] }]);
  });
});

describe('uptimeOf', () => {
  it('lists each route and variant separately, and names unlisted providers only `other`', () => {
    const window = windowOf([hour, 'lab/one@acme', 20, fast], [hour, 'lab/one@hidden', 30, { success: false }]);
    expect(routesOf(window)).toMatchObject([
      { provider: 'acme', privacy_class: 'private', requests: 20, success_rate: 1, window_hours: 24 },
      { provider: 'acme/eu', privacy_class: 'tee', requests: null, ...nothing },
      { provider: 'other', requests: 30, success_rate: 0, ttft_ms: null },
      { provider: 'other', requests: null, ...nothing },
    ]);
    expect(JSON.stringify(routesOf(window))).not.toMatch(/hidden|shadow/);
  });

  it('is null if fewer than 20 requests were measured, per day and per hour', () => {
    const [few] = routesOf(windowOf([hour, 'lab/one@acme', 19, fast]));
    expect(few).toMatchObject({ requests: null, ...nothing });
    const [enough] = routesOf(windowOf([hour, 'lab/one@acme', 19, fast], [hour - 1, 'lab/one@acme', 1, fast]));
    expect(enough).toMatchObject({ requests: 20, success_rate: 1 });
    expect(enough?.series.slice(-2)).toMatchObject([
      { requests: null, success_rate: null, ttft_p50_ms: null },
      { requests: null, success_rate: null, ttft_p50_ms: null },
    ]);
  });

  it('returns percentiles of the time to first token and the median speed', () => {
    const slow = { success: true, ttftMs: 9000, tokensPerSecond: 5 };
    const [route] = routesOf(windowOf([hour, 'lab/one@acme', 85, fast], [hour, 'lab/one@acme', 15, slow]));
    expect(route?.ttft_ms?.p50).toBeCloseTo(100, -1);
    expect(route?.ttft_ms?.p90).toBeGreaterThan(8500);
    expect(route?.ttft_ms?.p99).toBe(route?.ttft_ms?.p90);
    expect(route?.throughput_tps?.p50).toBeCloseTo(80, -1);
  });

  it('returns no time to first token for a route without streamed answers', () => {
    const whole = { success: true, wholeMs: 4000, wholeTokensPerSecond: 50 };
    expect(routesOf(windowOf([hour, 'lab/one@acme', 40, whole]))[0]).toMatchObject({
      ...{ requests: 40, success_rate: 1, ttft_ms: null, throughput_tps: null },
    });
  });

  it('has one entry per hour, the oldest first, even without measurements', () => {
    const [route, empty] = routesOf(windowOf([hour, 'lab/one@acme', 20, fast], [hour - 23, 'lab/one@acme', 40, fast]));
    for (const each of [route, empty]) {
      expect(each?.series.map(({ at }) => Date.parse(at) / 3_600_000)).toEqual(
        Array.from({ length: 24 }, (_, index) => hour - 23 + index),
      );
    }
    expect(route?.series.map(({ requests }) => requests)).toEqual([40, ...Array(22).fill(null), 20]);
    expect(route?.requests).toBe(60);
  });
});
