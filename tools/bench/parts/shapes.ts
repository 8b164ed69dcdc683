import { StageProviders } from '../../../test/kit/stage/providers.ts';
import { type Prepared, prepare } from '../../../test/privacy/sealed/ask.ts';
import { startSealed } from '../../../test/privacy/sealed/world.ts';
import { type Contender, end, startNode } from '../contender.ts';
import { type Burst, type Cost, CostMeter } from '../cpu-cost.ts';
import { startPassThrough } from '../others.ts';
import { figure, noRedis, type Part } from '../page/report.ts';
import { benchModel, benchRegistry, type ContenderOptions, type Flow, startSotto } from '../sotto.ts';

/** About four bytes per token. */
const longPrompt = 'The quick brown fox jumps over the lazy dog, and then some. '.repeat(7000);
const chatOf = (model: string): string =>
  JSON.stringify({ model, messages: [{ role: 'user', content: longPrompt }], max_tokens: 300 });
const embeddingsOf =
  (texts: number) =>
  (model: string): string =>
    JSON.stringify({ model, input: Array.from({ length: texts }, (_, at) => `Text number ${at}.`) });

/** A kind of request. Sotto and the floor get the same bytes, except for the model's name. */
interface Shape {
  readonly name: string;
  readonly flow: Flow;
  readonly load: Burst;
  readonly options?: Pick<ContenderOptions, 'path' | 'operation' | 'model'>;
  /** Default: a short chat. */
  readonly body?: (model: string) => string;
}

const whole: Burst = { model: 'json', stream: false, count: 3000, connections: 32 };
const streamOf = (events: number, count: number): Burst => ({
  ...{ model: `single-${events}`, stream: true, count, connections: 16 },
});
const shapeList: readonly Shape[] = [
  { name: 'whole answer, by key', flow: 'key', load: whole },
  { name: 'whole answer, by ticket', flow: 'ticket', load: whole },
  { name: 'whole answer, `/auto`', flow: 'key', load: whole, options: { model: () => '/auto' } },
  { name: 'stream of 10 events', flow: 'ticket', load: streamOf(10, 1500) },
  { name: 'stream of 10,000 events', flow: 'ticket', load: streamOf(10_000, 16) },
  {
    ...{ name: 'prompt of 100,000 tokens (420 kB)', flow: 'ticket', body: chatOf },
    load: { ...whole, count: 300, connections: 16 },
  },
  ...[1, 100].map((texts) => ({
    name: texts === 1 ? 'embeddings of one text' : `embeddings of ${texts} texts`,
    flow: 'key' as const,
    load: { model: `vectors-${texts}`, stream: false, count: texts === 1 ? 1500 : 200, connections: 16 },
    options: { path: '/v1/embeddings', operation: 'embeddings' as const },
    body: embeddingsOf(texts),
  })),
];

/** Measures the broker's cost for each kind of request, in turns with a pass-through of the same bytes. */
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
  const floor = await startPassThrough(upstream, 'floor');
  const kinds = shapeList.map(({ name, flow, load, options, body }) => ({
    name,
    load: quick ? { ...load, count: Math.max(load.connections, Math.ceil(load.count / 5)) } : load,
    contenders: [
      sotto.contender(flow, { ...options, ...(body && { body: (model: string) => body(`bench/${model}`) }) }),
      { ...floor, target: { ...floor.target, ...(body && { body }) } },
    ] as const,
    costs: [[], []] as [Cost[], Cost[]],
  }));
  const meter = new CostMeter();
  const rounds = quick ? 2 : 9;
  for (let round = -2; round < rounds; round += 1) {
    process.stderr.write(round < 0 ? 'warming up\n' : `round ${round + 1} of ${rounds}\n`);
    for (const { load, contenders, costs } of kinds) {
      for (const [at, contender] of contenders.entries()) {
        const cost = await meter.measure(contender, load);
        if (round >= 0) costs[at]?.push(cost);
      }
    }
  }
  const middle = (costs: readonly Cost[]): Cost | undefined =>
    costs.toSorted((a, b) => a.cpuUs - b.cpuUs)[Math.floor(costs.length / 2)];
  const row = (name: string, costs: readonly Cost[], floors: readonly Cost[]): string[] => {
    const [own, bare] = [middle(costs)?.cpuUs ?? Number.NaN, middle(floors)?.cpuUs ?? Number.NaN];
    return [name, figure(own), figure(bare), figure(own / bare, 2), figure(middle(costs)?.perSecond ?? Number.NaN)];
  };
  const rows = kinds.map(({ name, costs: [costs, floors] }) => row(name, costs, floors));
  const sealed = await measureSealed({ rounds, count: quick ? 50 : 300 });
  if (sealed !== undefined) {
    // The stand-ins of client and enclave encrypt so slowly that the broker is nearly idle, where each request costs more.
    const perSecond = Math.round(middle(sealed)?.perSecond ?? 1);
    const paced = async (contender: Contender): Promise<Cost[]> => {
      const costs: Cost[] = [];
      for (let round = 0; round < rounds; round += 1)
        costs.push(await meter.measureAtRate(contender, { model: 'json', perSecond, forS: 3 }));
      return costs;
    };
    const bare = await paced(floor);
    rows.push(row(`whole answer, by ticket, at ${perSecond} a second`, await paced(sotto.contender('ticket')), bare));
    rows.push(row('whole answer, end-to-end encrypted (relayed), at this rate', sealed, bare));
  }
  await meter.close();
  await sotto.stop();
  await floor.stop();
  await end(provider.child);
  return {
    title: 'Kinds of requests',
    method:
      'The broker and the floor, with the same bytes and in turns. The encrypted one stands beside others at its rate, because idleness costs.',
    tables: [
      {
        caption: 'CPU in µs per request',
        head: ['', 'broker', 'floor', '×', 'requests/s on one core'],
        rows,
      },
    ],
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
  const spec = await startSealed();
  const providers = await StageProviders.start(spec);
  const sotto = await startSotto({ ...providers.files, environment: { ...spec.environment, LOG_LEVEL: 'info' } });
  if (sotto === undefined) {
    await providers.stop();
    return undefined;
  }
  const provider = spec.standIns.provider('venice');
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
  await providers.stop();
  return costs;
}
