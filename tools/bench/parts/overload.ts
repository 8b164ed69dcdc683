import { end, startNode } from '../contender.ts';
import { percentile } from '../cpu.ts';
import { CostMeter } from '../cpu-cost.ts';
import { type Answered, offer, runFirst } from '../offered.ts';
import { figure, noRedis, type Part } from '../page/report.ts';
import { benchCatalog, benchRegistry, startSotto } from '../sotto.ts';

/** Streams of many events, so that the broker's work outweighs the load's. */
const model = 'burst-500';
/** Longer than a burst, so that the broker treats it as overload. */
const onsetMs = 3000;

/** Measures how three times the broker's capacity affects the broker and its clients. */
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
  // In production, clients run on other machines. Here they must not delay the broker or its provider.
  for (const pid of [provider.child.pid, ...contender.pids()]) if (pid !== undefined) runFirst(pid);
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
    title: 'Overload',
    method: `Streams of 500 events by key arrive at a fixed rate: half of the broker’s capacity (${figure(capacity)} per second with 32 connections), then three times the capacity for ${seconds} s, then half again. The first three seconds of each phase do not count, because the broker serves short bursts. Times are to the first byte, measured by a process with priority that sends one in twenty requests. Broker, provider and Redis have priority over the rest. The broker was ${alive ? '' : 'not '}ready afterwards.`,
    tables: [
      {
        caption: '',
        head: ['load', 'offered/s', 'served/s', 'rejected/s', 'served p50 ms', 'p99 ms', 'rejected p50 ms', 'p99 ms'],
        rows: rows.map(({ name, offered, served, refused, servedMs, refusedMs }) => [
          name,
          ...[offered, served, refused].map((each) => figure(each)),
          ...[servedMs.p50, servedMs.p99, refusedMs.p50, refusedMs.p99].map((each) => figure(each, 1)),
        ]),
      },
    ],
    promises: [
      ...(['p50', 'p99'] as const).map((at) => ({
        what: `time to a rejection at three times the capacity, ${at}`,
        ...(at === 'p50'
          ? { atMost: 5 }
          : { atMost: 50, because: 'one in a hundred comes while the core collects garbage or serves a full turn.' }),
        measured: most?.refusedMs[at] ?? Number.NaN,
        unit: 'ms',
      })),
      ...(['p50', 'p99'] as const).map((at) => ({
        what: `time to first byte at three times the capacity, ${at}, relative to half the capacity`,
        ...(at === 'p50'
          ? { atMost: 1.5 }
          : { atMost: 2.5, because: 'a request that is served waits for at most a short line of others.' }),
        measured: longer(at),
        unit: '×',
      })),
      { what: 'rejections other than 503 with `retry-after`', atMost: 0, measured: impolite.length, unit: '' },
    ],
  };
};

const served = (answers: readonly Answered[]): readonly Answered[] => answers.filter(({ status }) => status === 200);
const refused = (answers: readonly Answered[]): readonly Answered[] => answers.filter(({ status }) => status !== 200);
const times = (answers: readonly Answered[]): { readonly p50: number; readonly p99: number } => {
  const all = answers.map(({ ms }) => ms);
  return { p50: percentile(all, 50), p99: percentile(all, 99) };
};
