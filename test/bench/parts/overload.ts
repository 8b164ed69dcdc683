import { Pool } from 'undici';
import { end, startNode } from '../contender.ts';
import { percentile } from '../cpu.ts';
import { CostMeter } from '../cpu-cost.ts';
import type { Target } from '../load.ts';
import { figure } from '../page/report.ts';
import { benchCatalog, benchRegistry, startSotto } from '../sotto.ts';
import { noRedis, type Part } from './part.ts';

/** Streams of many events: what the broker does for one weighs more than what the load does. */
const model = 'burst-500';
/** An overload is told from a burst by how long it lasts. */
const onsetMs = 3000;

interface Answered {
  /** Since the load began. */
  readonly at: number;
  readonly status: number;
  /** To the first byte. */
  readonly ms: number;
  readonly retryAfter: boolean;
}

/** What three times as much as the broker can do does to it, and to those whom it serves. */
export const overload: Part = async ({ quick }) => {
  const seconds = quick ? 8 : 30;
  const counted = seconds - onsetMs / 1000;
  const provider = await startNode('./processes/provider.ts', [], false);
  const sotto = await startSotto({
    registry: benchRegistry(`http://127.0.0.1:${provider.port}/v1`),
    catalog: benchCatalog([model]),
  });
  if (sotto === undefined) return noRedis();
  const contender = sotto.contender('key');
  const meter = new CostMeter();
  const burst = { model, stream: true, count: 1500, connections: 32 } as const;
  const { stream } =
    (await meter.compare([contender], { stream: burst }, { rounds: 5, warmUp: 3 })).get(contender) ?? {};
  await meter.close();
  const capacity = stream?.perSecond ?? 0;
  const phases = [
    { name: 'half', load: 0.5 },
    { name: 'three times', load: 3 },
    { name: 'half again', load: 0.5 },
  ];
  const found: { name: string; perSecond: number; answers: Answered[] }[] = [];
  for (const { name, load } of phases) {
    process.stderr.write(`${name}\n`);
    const perSecond = Math.floor(capacity * load);
    found.push({ name, perSecond, answers: await offered(contender.target, perSecond, seconds) });
  }
  const alive = (await fetch(`${new URL(sotto.service.baseUrl).origin}/readyz`)).ok;
  await sotto.stop();
  await end(provider.child);

  const served = (answers: readonly Answered[]): number[] =>
    answers.filter(({ status }) => status === 200).map(({ ms }) => ms);
  const refused = (answers: readonly Answered[]): Answered[] => answers.filter(({ status }) => status !== 200);
  const [, most] = found;
  const impolite = found
    .flatMap(({ answers }) => refused(answers))
    .filter(({ status, retryAfter }) => status !== 503 || !retryAfter);
  return {
    title: 'More than it can do',
    method: `Streams of 500 events by key, offered at a fixed rate whatever becomes of them, over as many connections as that takes: at half of what the broker can do (${figure(capacity)} a second with 32 connections), at three times as much for ${seconds} s, and at half again. The first three seconds of each are left out: what lasts no second is taken for a burst, and served. Times are to the first byte. The load comes from one process on the other core: its own waiting is in the times. Every refusal was a 503 with \`retry-after\`${impolite.length === 0 ? '' : ` but ${impolite.length}`}; the broker was ${alive ? '' : 'not '}ready afterwards.`,
    tables: [
      {
        caption: '',
        head: ['load', 'offered/s', 'served/s', 'refused/s', 'served p50 ms', 'p99 ms', 'refused p50 ms', 'p99 ms'],
        rows: found.map(({ name, perSecond, answers }) => [
          name,
          figure(perSecond),
          figure(served(answers).length / counted),
          figure(refused(answers).length / counted),
          figure(percentile(served(answers), 50), 1),
          figure(percentile(served(answers), 99), 1),
          figure(
            percentile(
              refused(answers).map(({ ms }) => ms),
              50,
            ),
            1,
          ),
          figure(
            percentile(
              refused(answers).map(({ ms }) => ms),
              99,
            ),
            1,
          ),
        ]),
      },
    ],
    promises: [
      {
        what: 'a refusal under three times the load, p50',
        atMost: 5,
        measured: percentile(
          refused(most?.answers ?? []).map(({ ms }) => ms),
          50,
        ),
        unit: 'ms',
      },
      { what: 'refusals that are not 503 with `retry-after`', atMost: 0, measured: impolite.length, unit: '' },
    ],
  };
};

/** Sends at a fixed rate; resolves when all are answered. */
async function offered(target: Target, perSecond: number, seconds: number): Promise<Answered[]> {
  const pool = new Pool(target.origin, { connections: 2000, pipelining: 1, keepAliveTimeout: 60_000 });
  const body = JSON.stringify({
    ...{ model: target.model(model), stream: true, max_tokens: 1000 },
    messages: [{ role: 'user', content: 'Say it.' }],
  });
  const startOfLoad = performance.now();
  const answers: Promise<Answered>[] = [];
  const one = (): Promise<Answered> =>
    new Promise((resolve) => {
      const startedAt = performance.now();
      let status = 0;
      let retryAfter = false;
      let ms: number | undefined;
      const over = (): void =>
        resolve({ at: startedAt - startOfLoad, status, retryAfter, ms: ms ?? performance.now() - startedAt });
      pool.dispatch(
        {
          path: target.path,
          method: 'POST',
          headers: { 'content-type': 'application/json', ...target.headers() },
          body,
        },
        {
          onRequestStart() {},
          onResponseStart(_controller, code, headers) {
            status = code;
            retryAfter = headers['retry-after'] !== undefined;
          },
          onResponseData() {
            ms ??= performance.now() - startedAt;
          },
          onResponseEnd: over,
          onResponseError: over,
        },
      );
    });
  const startedAt = performance.now();
  const total = perSecond * seconds;
  while (answers.length < total) {
    const due = Math.min(total, Math.floor(((performance.now() - startedAt) * perSecond) / 1000) + 1);
    while (answers.length < due) answers.push(one());
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const all = (await Promise.all(answers)).filter(({ at }) => at >= onsetMs);
  await pool.destroy();
  return all;
}
