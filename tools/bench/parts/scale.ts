import { type Contender, end, startNode } from '../contender.ts';
import { median } from '../cpu.ts';
import { CostMeter } from '../cpu-cost.ts';
import { figure, noRedis, type Part } from '../page/report.ts';
import { type BenchService, benchModel, startSotto } from '../sotto.ts';

interface Size {
  readonly name: string;
  readonly models: number;
  readonly routes: number;
}
const sizes: readonly Size[] = [
  { name: '1 model with 1 route', models: 1, routes: 1 },
  { name: '100 models with 5 routes each', models: 100, routes: 5 },
  { name: '500 models with 20 routes each', models: 500, routes: 20 },
];
const keyCounts = [1, 100, 1000] as const;

interface Measured {
  readonly size: Size;
  readonly sotto: BenchService;
  readonly plain: Contender;
  readonly auto: Contender;
}

/** Measures whether a request costs more with more models, routes or keys. */
export const scale: Part = async ({ quick }) => {
  const provider = await startNode('./processes/provider.ts', [], false);
  const upstream = `http://127.0.0.1:${provider.port}/v1`;
  const burst = { model: 'json', stream: false, count: quick ? 800 : 2500, connections: 32 } as const;
  const rounds = quick ? 2 : 9;
  const meter = new CostMeter();
  const services: Measured[] = [];
  for (const size of sizes) {
    const sotto = await startSotto({ registry: registryOf(size, upstream), catalog: catalogOf(size) });
    if (sotto === undefined) return noRedis();
    services.push({
      size,
      sotto,
      plain: sotto.contender('key'),
      auto: sotto.contender('key', { model: () => '/auto' }),
    });
  }
  const found = new Map(services.flatMap(({ plain, auto }) => [plain, auto]).map((one) => [one, [] as number[]]));
  for (let round = -2; round < rounds; round += 1) {
    process.stderr.write(round < 0 ? 'warming up\n' : `catalogs, round ${round + 1} of ${rounds}\n`);
    for (const [contender, costs] of found) {
      const { cpuUs } = await meter.measure(contender, burst);
      if (round >= 0) costs.push(cpuUs);
    }
  }
  const middle = services[1];
  const byKeys: string[][] = [];
  if (middle !== undefined) {
    const { sotto } = middle;
    const keys = [sotto.account.inferenceKey];
    for (const count of keyCounts) {
      while (keys.length < count) {
        const some = Array.from({ length: Math.min(50, count - keys.length) }, () =>
          sotto.service.createKey(sotto.account),
        );
        keys.push(...(await Promise.all(some)));
      }
      let at = 0;
      const next = (): Record<string, string> => {
        at += 1;
        return { authorization: `Bearer ${keys[at % keys.length]}` };
      };
      const plain = sotto.contender('key');
      const contender = { ...plain, target: { ...plain.target, headers: next } };
      const costs: number[] = [];
      for (let round = -1; round < rounds; round += 1) {
        const { cpuUs } = await meter.measure(contender, burst);
        if (round >= 0) costs.push(cpuUs);
      }
      byKeys.push([String(count), figure(median(costs))]);
    }
  }
  await meter.close();
  for (const { sotto } of services) await sotto.stop();
  await end(provider.child);
  const cost = (contender: Contender): number => median(found.get(contender) ?? []);
  return {
    title: 'Large catalogs and many keys',
    method: 'Whole answers by key. First each names one model, or uses `/auto` over all. Then many keys take turns.',
    tables: [
      {
        caption: 'CPU of the broker in µs per request',
        head: ['catalog', 'a named model', '`/auto`'],
        rows: services.map(({ size, plain, auto }) => [size.name, figure(cost(plain)), figure(cost(auto))]),
      },
      { caption: 'The second catalog, by number of keys', head: ['keys', 'µs per request'], rows: byKeys },
    ],
    promises: [],
  };
};

const registryOf = ({ routes }: Size, upstream: string): string =>
  JSON.stringify({
    providers: Array.from({ length: routes }, (_, at) => ({
      ...{ id: `bench-${at}`, name: `Bench ${at}`, adapter: 'openai', base_url: upstream, privacy_class: 'private' },
    })),
  });

const catalogOf = ({ models, routes }: Size): string =>
  JSON.stringify({
    models: Array.from({ length: models }, (_, at) => {
      const name = at === 0 ? 'json' : `other-${at}`;
      return {
        ...benchModel(name),
        routes: Array.from({ length: routes }, (_route, route) => ({
          provider: `bench-${route}`,
          upstream_model: 'json',
          privacy_class: 'private',
          pricing: { input: 0.1 + route / 100, output: 0.2 + route / 100 },
        })),
      };
    }),
  });
