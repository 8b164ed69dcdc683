import { setTimeout as pause } from 'node:timers/promises';
import { type Stage, setStage } from '../../faults/chaos/load.ts';
import { type Balancer, balancerSkipReason, hasBalancer, startBalancer } from '../../kit/balancer.ts';
import type { TestProcess } from '../../kit/plane.ts';
import type { Service } from '../../kit/service.ts';
import { noteSkip } from '../../kit/skips.ts';

/** Two brokers and two controls, each pair behind a balancer: clients know the balancers alone. */
export interface BalancedStage extends Stage {
  /** With the balancers' addresses. */
  readonly service: Service;
  readonly brokers: readonly TestProcess[];
  readonly controls: readonly TestProcess[];
}

/** For how long a plane that goes serves on: the balancer takes twice half a second to see it. */
const drain = { DRAIN_DELAY_S: '1.5', DRAIN_TIMEOUT_S: '20' };
/** A plane that is back is found by the balancer within half a second. */
const foundMs = 1000;

/** Undefined where no Redis or no HAProxy can be had; the run then says that it skipped `what`. */
export async function setBalancedStage(what: string): Promise<BalancedStage | undefined> {
  if (!hasBalancer()) {
    noteSkip(what, balancerSkipReason);
    return undefined;
  }
  const stage = await setStage(what, { environment: drain });
  if (stage === undefined) return undefined;
  const { service } = stage;
  const broker = await service.addBroker();
  const control = await service.addControl();
  const balancers: Balancer[] = [];
  const balanced = async (urls: readonly string[]): Promise<string> => {
    const balancer = await startBalancer(urls.map((url) => new URL(url).origin));
    balancers.push(balancer);
    return `${balancer.origin}/v1`;
  };
  return {
    ...stage,
    service: {
      ...service,
      baseUrl: await balanced([service.baseUrl, broker.baseUrl]),
      controlUrl: await balanced([service.controlUrl, control.controlUrl]),
    },
    brokers: [service.broker, broker.process],
    controls: [service.control, control.process],
    async stop() {
      for (const balancer of balancers) await balancer.stop();
      await stage.stop();
    },
  };
}

/** Ends one after the other by SIGTERM and starts it anew; answers the exit codes. */
export async function roll(
  planes: readonly TestProcess[],
  {
    changes = {},
    beforeEach = () => {},
  }: { readonly changes?: Readonly<Record<string, string | undefined>>; readonly beforeEach?: () => void } = {},
): Promise<(number | null)[]> {
  const codes: (number | null)[] = [];
  for (const plane of planes) {
    beforeEach();
    codes.push(await plane.terminate());
    await plane.restart(changes);
    await pause(foundMs);
  }
  return codes;
}
