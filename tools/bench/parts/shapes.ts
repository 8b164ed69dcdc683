import { type Prepared, prepare } from '../../../test/privacy/sealed/ask.ts';
import { startSealedWorld } from '../../../test/privacy/sealed/world.ts';
import { type Contender, end, startNode } from '../contender.ts';
import { type Cost, CostMeter } from '../cpu-cost.ts';
import { figure } from '../page/report.ts';
import { benchModel, benchRegistry, startSotto } from '../sotto.ts';
import { noRedis, type Part } from './part.ts';

/** About four bytes per token. */
const longPrompt = 'The quick brown fox jumps over the lazy dog, and then some. '.repeat(7000);
const chatOf = (model: string, stream: boolean, content: string): string =>
  JSON.stringify({ model, stream, messages: [{ role: 'user', content }], max_tokens: 300 });
const embeddingsOf =
  (texts: number) =>
  (name: string): string =>
    JSON.stringify({ model: `bench/${name}`, input: Array.from({ length: texts }, (_, at) => `Text number ${at}.`) });

/** Measures the broker's cost for each kind of request. */
export const shapes: Part = async ({ quick }) => {
  const provider = await startNode('./processes/provider.ts', [], false);
  const upstream = `http://127.0.0.1:${provider.port}/v1`;
  const sotto = await startSotto({
    registry: benchRegistry(upstream),
    catalog: JSON.stringify({
      models: [
        ...['json', 'single-10', 'single-10000'].map((name) => benchModel(name)),
        ...['vectors-1', 'vectors-100'].map((name) => benchModel(name, 'embedding')),
      ],
    }),
  });
  if (sotto === undefined) return noRedis();
  const part = quick ? 0.2 : 1;
  const load = (model: string, stream: boolean, count: number, connections = 16) => ({
    ...{ model, stream, connections },
    count: Math.max(connections, Math.ceil(count * part)),
  });
  const long = (name: string, stream: boolean): string => chatOf(`bench/${name}`, stream, longPrompt);
  const embeddings = (texts: number) =>
    sotto.contender('key', { path: '/v1/embeddings', operation: 'embeddings', body: embeddingsOf(texts) });
  const auto = sotto.contender('key', { model: () => '/auto' });
  const kinds = [
    { name: 'whole answer, by key', contender: sotto.contender('key'), burst: load('json', false, 3000, 32) },
    { name: 'whole answer, by ticket', contender: sotto.contender('ticket'), burst: load('json', false, 3000, 32) },
    { name: 'whole answer, `/auto`', contender: auto, burst: load('json', false, 3000, 32) },
    { name: 'stream of 10 events', contender: sotto.contender('ticket'), burst: load('single-10', true, 1500) },
    { name: 'stream of 10,000 events', contender: sotto.contender('ticket'), burst: load('single-10000', true, 16) },
    {
      name: 'prompt of 100,000 tokens (420 kB)',
      contender: sotto.contender('ticket', { body: long }),
      burst: load('json', false, 300),
    },
    { name: 'embeddings of one text', contender: embeddings(1), burst: load('vectors-1', false, 1500) },
    { name: 'embeddings of 100 texts', contender: embeddings(100), burst: load('vectors-100', false, 200) },
  ];
  const meter = new CostMeter();
  const taken = kinds.map(() => [] as Cost[]);
  const rounds = quick ? 2 : 9;
  for (let round = -2; round < rounds; round += 1) {
    process.stderr.write(round < 0 ? 'warming up\n' : `round ${round + 1} of ${rounds}\n`);
    for (const [at, { contender, burst }] of kinds.entries()) {
      const cost = await meter.measure(contender, burst);
      if (round >= 0) taken[at]?.push(cost);
    }
  }
  await meter.close();
  await sotto.stop();
  await end(provider.child);
  const row = (name: string, costs: readonly Cost[]): string[] => {
    const middle = costs.toSorted((a, b) => a.cpuUs - b.cpuUs)[Math.floor(costs.length / 2)];
    return [name, figure(middle?.cpuUs ?? Number.NaN), figure(middle?.perSecond ?? Number.NaN)];
  };
  const rows = kinds.map(({ name }, at) => row(name, taken[at] ?? []));
  const sealed = await measureSealed({ rounds, count: quick ? 50 : 300 });
  if (sealed !== undefined) rows.push(row('whole answer, end-to-end encrypted (relayed)', sealed));
  return {
    title: 'Kinds of requests',
    method: 'The broker alone. All kinds of requests take turns in one run.',
    tables: [{ caption: 'CPU of the broker', head: ['', 'µs per request', 'requests/s on one core'], rows }],
    promises: [],
  };
};

/**
 * Measures the broker's cost to relay a whole answer that is encrypted to an enclave, field by field. Client and
 * enclave are stand-ins in the benchmark's process, which is not counted. Undefined without Redis.
 */
async function measureSealed({
  rounds,
  count,
}: {
  readonly rounds: number;
  readonly count: number;
}): Promise<readonly Cost[] | undefined> {
  const world = await startSealedWorld();
  const sotto = await startSotto({
    registry: world.registry,
    catalog: world.catalog,
    environment: { ...world.environment, LOG_LEVEL: 'info' },
    ...(world.enclaves === undefined ? {} : { enclaves: world.enclaves }),
  });
  if (sotto === undefined) {
    await world.stop();
    return undefined;
  }
  const provider = world.provider('venice');
  const ready: Prepared[] = [];
  let current: Prepared | undefined;
  const contender: Contender = {
    name: 'sealed',
    target: {
      origin: new URL(sotto.service.baseUrl).origin,
      path: '/v1/chat/completions',
      model: () => provider.model,
      body() {
        current = ready.pop();
        return current?.body.toString('utf8') ?? '';
      },
      headers: () => current?.headers ?? {},
    },
    pids: () => [sotto.service.broker.pid],
    async prepare(requests) {
      while (ready.length < requests) ready.push(await prepare(sotto.service, sotto.account, provider));
    },
    stop: async () => {},
  };
  const meter = new CostMeter();
  const costs: Cost[] = [];
  for (let round = -2; round < rounds; round += 1) {
    const cost = await meter.measure(contender, { model: '', stream: false, count, connections: 16 });
    if (round >= 0) costs.push(cost);
  }
  await meter.close();
  await sotto.stop();
  await world.stop();
  return costs;
}
