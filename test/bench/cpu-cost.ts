import type { Contender } from './contender.ts';
import { cpuMicroseconds, median } from './cpu.ts';
import { Load } from './load.ts';

/** One load: `count` requests for a model, so many at a time. */
export interface Burst {
  readonly model: string;
  readonly stream: boolean;
  readonly count: number;
  readonly connections: number;
}

export interface Cost {
  /** CPU of the contender's processes for one request, in µs. */
  readonly cpuUs: number;
  readonly perSecond: number;
}

/** Loads of contenders, kept open from round to round. */
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
    const before = cpuMicroseconds(contender.pids());
    const perSecond = await this.load(contender).closedLoop(burst);
    return { cpuUs: (cpuMicroseconds(contender.pids()) - before) / burst.count, perSecond };
  }

  /** Medians of every burst for every contender, round by round in turns; the first `warmUp` rounds are not counted. */
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
