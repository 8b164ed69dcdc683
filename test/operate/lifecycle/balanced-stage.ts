import { noteSkip } from '@sotto/test-servers';
import { type Balancer, balancerSkipReason, hasBalancer, startBalancer } from '../../kit/balancer.ts';
import type { TestProcess } from '../../kit/plane.ts';
import type { Service } from '../../kit/service.ts';
import { type OwnStage, startOwnStage } from '../../kit/stage/own-stage.ts';

/** Two brokers and two controls, each pair behind a balancer. Clients know only the balancers. */
export interface BalancedStage extends OwnStage {
  /** With the balancers' addresses. */
  readonly service: Service;
  readonly brokers: readonly TestProcess[];
  readonly controls: readonly TestProcess[];
  /** Ends each process by SIGTERM and restarts it, one after the other. Returns the exit codes. */
  roll(planes: readonly TestProcess[], how?: Rolled): Promise<(number | null)[]>;
}

interface Rolled {
  readonly changes?: Readonly<Record<string, string | undefined>>;
  readonly beforeEach?: () => void;
}

/**
 * How long a terminating plane continues to serve. The balancer notices at the next check, within a quarter of a second. The rest is for
 * a busy machine.
 */
const drain = { DRAIN_DELAY_S: '5', DRAIN_TIMEOUT_S: '20' };

/** Undefined if Redis or HAProxy is not available. The run then reports that it skipped `what`. */
export async function setBalancedStage(what: string): Promise<BalancedStage | undefined> {
  if (!hasBalancer()) {
    noteSkip(what, balancerSkipReason);
    return undefined;
  }
  const stage = await startOwnStage(what, { environment: drain, limitMs: 60_000 });
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
    async roll(planes, { changes = {}, beforeEach = () => {} } = {}) {
      const codes: (number | null)[] = [];
      for (const plane of planes) {
        beforeEach();
        codes.push(await plane.terminate());
        await plane.restart(changes);
        for (const balancer of balancers) await balancer.hasAll();
      }
      return codes;
    },
    async stop() {
      for (const balancer of balancers) await balancer.stop();
      await stage.stop();
    },
  };
}
