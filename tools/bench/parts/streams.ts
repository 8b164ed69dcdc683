import { type Contender, end, startNode } from '../contender.ts';
import { residentMiB } from '../cpu.ts';
import { Load } from '../load.ts';
import { startPassThrough, startPortkey } from '../others.ts';
import { figure, noRedis, type Part } from '../page/report.ts';
import { benchCatalog, benchRegistry, startSotto } from '../sotto.ts';

const settleMs = 5000;

/** Measures the memory of many open and silent streams, such as those of reasoning models. */
export const streams: Part = async ({ quick }) => {
  const count = quick ? 500 : 5000;
  const provider = await startNode('./processes/provider.ts', [], false);
  const upstream = `http://127.0.0.1:${provider.port}/v1`;
  const sotto = await startSotto({ registry: benchRegistry(upstream), catalog: benchCatalog(['hold']) });
  if (sotto === undefined) return noRedis();
  const byTicket = sotto.contender('ticket');
  const portkey = await startPortkey(upstream).catch(() => undefined);
  const contenders: Contender[] = [await startPassThrough(upstream, 'floor')];
  if (portkey !== undefined) contenders.push(portkey);
  contenders.push(byTicket);
  const found = new Map<Contender, { before: number; after: number }>();
  for (const contender of contenders) {
    process.stderr.write(`${contender.name}\n`);
    const load = new Load(contender.target);
    const before = residentMiB(contender.pids());
    await contender.prepare?.(count, 'hold');
    const closes: (() => void)[] = [];
    for (let opened = 0; opened < count; opened += 50) {
      closes.push(...(await Promise.all(Array.from({ length: 50 }, () => load.open('hold')))));
    }
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    found.set(contender, { before, after: residentMiB(contender.pids()) });
    for (const close of closes) close();
    await load.close();
  }
  for (const contender of contenders) await contender.stop();
  await sotto.stop();
  await end(provider.child);
  const of = (contender: Contender) => found.get(contender) ?? { before: Number.NaN, after: Number.NaN };
  return {
    title: 'Open streams',
    method: `${count} streams through one process, each with one event sent. Resident memory before the first stream and ${settleMs / 1000} seconds after the last.`,
    tables: [
      {
        caption: 'Resident memory in MiB',
        head: ['', 'before', `with ${count} streams`, 'KiB per stream'],
        rows: contenders.map((contender) => {
          const { before, after } = of(contender);
          return [contender.name, figure(before), figure(after), figure(((after - before) * 1024) / count, 1)];
        }),
      },
    ],
    plots: [
      {
        kind: 'bars',
        name: 'memory',
        title: 'Memory for one open stream, in KiB',
        bars: contenders.map((contender) => ({
          name: contender.name,
          value: ((of(contender).after - of(contender).before) * 1024) / count,
          ours: contender === byTicket,
        })),
      },
    ],
    promises: [{ what: `${count} open streams`, atMost: 1024, measured: of(byTicket).after, unit: 'MiB' }],
  };
};
