import type { Contender } from './contender.ts';
import { cpuMicroseconds, median } from './cpu.ts';
import { Load } from './load.ts';

/** One load: `count` requests for a model over `connections` connections. */
export interface Burst {
  readonly model: string;
  readonly stream: boolean;
  readonly count: number;
  readonly connections: number;
}

export interface Cost {
  /** CPU of the contender's processes per request, in µs. */
  readonly cpuUs: number;
  readonly perSecond: number;
}

export interface Rate {
  readonly model: string;
  readonly perSecond: number;
  readonly forS: number;
}

const openConnections = 32;

const cpuOf = (contender: Contender): number => contender.cpuMicroseconds?.() ?? cpuMicroseconds(contender.pids());

/** Loads of contenders. Their connections stay open between rounds. */
export class CostMeter {
  readonly #loads = new Map<Contender, Load>();

  load(contender: Contender): Load {
    let load = this.#loads.get(contender);
    if (load === undefined) {
      load = new Load(contender.target);
      this.#loads.set(contender, load);
    }
    return load;
  }

  async measure(contender: Contender, burst: Burst): Promise<Cost> {
    await contender.prepare?.(burst.count, burst.model);
    const before = cpuOf(contender);
    const perSecond = await this.load(contender).closedLoop(burst);
    const cpuUs = (cpuOf(contender) - before) / burst.count;
    await contender.rest?.();
    return { cpuUs, perSecond };
  }

  /** Measures whole answers at a fixed rate. */
  async measureAtRate(contender: Contender, { model, perSecond, forS }: Rate): Promise<Cost> {
    const count = Math.ceil(perSecond * forS);
    await contender.prepare?.(count, model);
    const before = cpuMicroseconds(contender.pids());
    await this.load(contender).openLoop({ model, stream: false, count, perSecond });
    const cpuUs = (cpuMicroseconds(contender.pids()) - before) / count;
    await contender.rest?.();
    return { cpuUs, perSecond };
  }

  /** Returns the times to the first byte in ms, at a fixed rate and over open connections. */
  async firstBytes(contender: Contender, { model, perSecond, forS }: Rate): Promise<number[]> {
    const count = Math.ceil(perSecond * forS);
    await contender.prepare?.(count + openConnections, model);
    const load = this.load(contender);
    await load.closedLoop({ model, stream: true, count: openConnections, connections: openConnections });
    const times = await load.openLoop({ model, stream: true, count, perSecond });
    await contender.rest?.();
    return times;
  }

  /**
   * Returns the rate at which a contender is busy half of the time. A single request costs more than one among many.
   */
  async halfLoad(contender: Contender, { model, perSecond }: Pick<Rate, 'model' | 'perSecond'>): Promise<number> {
    let rate = perSecond;
    for (let tries = 0; tries < 3; tries += 1) {
      await contender.prepare?.(rate * 2 + openConnections, model);
      const startedAt = performance.now();
      const before = cpuMicroseconds(contender.pids());
      await this.load(contender).openLoop({ model, stream: true, count: rate * 2, perSecond: rate });
      const busy = (cpuMicroseconds(contender.pids()) - before) / 1000 / (performance.now() - startedAt);
      rate = Math.round((rate * 0.5) / busy);
    }
    return rate;
  }

  /**
   * Returns the medians of every burst for every contender, which take turns in each round. The first `warmUp` rounds
   * do not count.
   */
  async compare<Name extends string>(
    contenders: readonly Contender[],
    bursts: Readonly<Record<Name, Burst>>,
    { rounds, warmUp }: { readonly rounds: number; readonly warmUp: number },
  ): Promise<Map<Contender, Record<Name, Cost>>> {
    const names = Object.keys(bursts) as Name[];
    const taken = new Map(contenders.map((contender) => [contender, new Map<Name, Cost[]>()]));
    for (let round = -warmUp; round < rounds; round += 1) {
      process.stderr.write(round < 0 ? 'warming up\n' : `round ${round + 1} of ${rounds}\n`);
      for (const contender of contenders) {
        for (const name of names) {
          const cost = await this.measure(contender, bursts[name]);
          if (round < 0) continue;
          const costs = taken.get(contender);
          costs?.set(name, [...(costs.get(name) ?? []), cost]);
        }
      }
    }
    const middle = (costs: readonly Cost[]): Cost => ({
      cpuUs: median(costs.map(({ cpuUs }) => cpuUs)),
      perSecond: median(costs.map(({ perSecond }) => perSecond)),
    });
    return new Map(
      [...taken].map(([contender, costs]) => [
        contender,
        Object.fromEntries(names.map((name) => [name, middle(costs.get(name) ?? [])])) as Record<Name, Cost>,
      ]),
    );
  }

  async close(): Promise<void> {
    for (const load of this.#loads.values()) await load.close();
    this.#loads.clear();
  }
}
