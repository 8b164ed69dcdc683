import { end, startNode } from '../contender.ts';
import { percentile } from '../cpu.ts';
import { CostMeter } from '../cpu-cost.ts';
import { type Answered, offer, runFirst } from '../offered.ts';
import { figure } from '../page/report.ts';
import { benchCatalog, benchRegistry, startSotto } from '../sotto.ts';
import { noRedis, type Part } from './part.ts';

/** Streams of many events: what the broker does for one weighs more than what the load does. */
const model = 'burst-500';
/** An overload is told from a burst by how long it lasts. */
const onsetMs = 3000;

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
  // In earnest the crowd is on machines of its own: it shall keep neither the broker waiting nor what the broker asks.
  for (const pid of [provider.child.pid, sotto.pids.redis, ...contender.pids()]) if (pid !== undefined) runFirst(pid);
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
  const found: { name: string; perSecond: number; answers: readonly Answered[]; witness: readonly Answered[] }[] = [];
  const { origin, path } = contender.target;
  const body = JSON.stringify({
    ...{ model: contender.target.model(model), stream: true, max_tokens: 1000 },
    messages: [{ role: 'user', content: 'Say it.' }],
  });
  for (const { name, load } of phases) {
    process.stderr.write(`${name}\n`);
    const perSecond = Math.floor(capacity * load);
    const { crowd, witness } = await offer({
      ...{ origin, path, perSecond, seconds },
      headers: { 'content-type': 'application/json', ...contender.target.headers() },
      body,
    });
    const counts = ({ at }: Answered): boolean => at >= onsetMs;
    found.push({
      ...{ name, perSecond },
      answers: [...crowd, ...witness].filter(counts),
      witness: witness.filter(counts),
    });
  }
  const alive = (await fetch(`${new URL(sotto.service.baseUrl).origin}/readyz`)).ok;
  await sotto.stop();
  await end(provider.child);

  const rows = found.map(({ name, perSecond, answers, witness }) => ({
    name,
    offered: perSecond,
    served: served(answers).length / counted,
    refused: refused(answers).length / counted,
    servedMs: times(served(witness)),
    refusedMs: times(refused(witness)),
  }));
  const [half, most] = rows;
  const impolite = found
    .flatMap(({ answers }) => refused(answers))
    .filter(({ status, retryAfter }) => status !== 503 || !retryAfter);
  const longer = (at: 'p50' | 'p99'): number => (most?.servedMs[at] ?? Number.NaN) / (half?.servedMs[at] ?? Number.NaN);
  return {
    title: 'More than it can do',
    method: `Streams of 500 events by key, offered at a fixed rate whatever becomes of them, over as many connections as that takes: at half of what the broker can do (${figure(capacity)} a second with 32 connections), at three times as much for ${seconds} s, and at half again. The first three seconds of each are left out: what lasts no second is taken for a burst, and served. Times are to the first byte, and are taken by a witness: a process of its own that asks one of twenty and is run first. The others come from a process that is as busy as the broker; what it waits for itself would be in its times. In earnest the crowd is elsewhere: here broker, provider and Redis have the cores before it. Every refusal was a 503 with \`retry-after\`${impolite.length === 0 ? '' : ` but ${impolite.length}`}; the broker was ${alive ? '' : 'not '}ready afterwards.`,
    tables: [
      {
        caption: '',
        head: ['load', 'offered/s', 'served/s', 'refused/s', 'served p50 ms', 'p99 ms', 'refused p50 ms', 'p99 ms'],
        rows: rows.map(({ name, offered, served, refused, servedMs, refusedMs }) => [
          name,
          ...[offered, served, refused].map((each) => figure(each)),
          ...[servedMs.p50, servedMs.p99, refusedMs.p50, refusedMs.p99].map((each) => figure(each, 1)),
        ]),
      },
    ],
    promises: [
      ...(['p50', 'p99'] as const).map((at) => ({
        what: `a refusal under three times the load, ${at}`,
        atMost: 5,
        measured: most?.refusedMs[at] ?? Number.NaN,
        unit: 'ms',
      })),
      ...(['p50', 'p99'] as const).map((at) => ({
        what: `time to the first byte under three times the load, ${at}, of that at half load`,
        atMost: 1.5,
        measured: longer(at),
        unit: '×',
      })),
      { what: 'refusals that are not 503 with `retry-after`', atMost: 0, measured: impolite.length, unit: '' },
    ],
  };
};

const served = (answers: readonly Answered[]): readonly Answered[] => answers.filter(({ status }) => status === 200);
const refused = (answers: readonly Answered[]): readonly Answered[] => answers.filter(({ status }) => status !== 200);
const times = (answers: readonly Answered[]): { readonly p50: number; readonly p99: number } => {
  const all = answers.map(({ ms }) => ms);
  return { p50: percentile(all, 50), p99: percentile(all, 99) };
};
