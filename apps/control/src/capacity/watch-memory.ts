import { repeat } from '@sotto/server';
import type { CapacityPort } from '@sotto/state';
import type { Domain } from '../domain.ts';
import type { ControlMetrics } from '../metrics/control-metrics.ts';

const watchMs = 10_000;

/** Measures how full the shared state is. It only warns: one account that fills Redis must not make every broker unready. */
export const watchMemory = (
  state: CapacityPort,
  metrics: Pick<ControlMetrics, 'redisUsed' | 'redisLimit'>,
): Domain => ({
  tasks: (failed) => [
    repeat(
      watchMs,
      async () => {
        const use = await state.readMemory();
        if (use === undefined) return;
        metrics.redisUsed.set(use.usedBytes);
        metrics.redisLimit.set(use.limitBytes);
      },
      failed('memory'),
    ),
  ],
});
