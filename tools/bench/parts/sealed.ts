import { type Prepared, prepare } from '../../../test/privacy/sealed/ask.ts';
import { startSealedWorld } from '../../../test/privacy/sealed/world.ts';
import type { Contender } from '../contender.ts';
import { type Cost, CostMeter } from '../cpu-cost.ts';
import { startSotto } from '../sotto.ts';

/**
 * What relaying a whole answer costs the broker that is encrypted to an enclave, field by field. Client and enclave are
 * stand-ins in the bench's own process, and not counted. Undefined where there is no Redis.
 */
export async function measureSealed({
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
