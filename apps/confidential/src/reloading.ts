import { StartError } from '@sotto/server';
import type { BrokerEvents } from './events.ts';

/** How often a broker asks the keeper for changed keys. */
const askKeeperAgainMs = 3_600_000;

interface Reloading {
  /** Reads keys and registry again, and uses them. */
  readonly reload: () => Promise<void>;
  /** A broker in a confidential VM has one. No signal reaches it, so it reloads each hour. */
  readonly hasKeeper: boolean;
  readonly onRefused: BrokerEvents['reloadRefused'];
}

/** Returns what a signal calls. Reloads run one after the other. All calls during one are answered by one after it. */
export function reloading({ reload, hasKeeper, onRefused }: Reloading): () => void {
  let state: 'idle' | 'running' | 'again' = 'idle';
  const run = async (): Promise<void> => {
    do {
      state = 'running';
      await reload().catch((error: unknown) =>
        onRefused({ problem: error instanceof StartError ? error.message : 'unexpected error' }),
      );
    } while ((state as string) === 'again');
    state = 'idle';
  };
  const ask = (): void => {
    if (state === 'idle') void run();
    else state = 'again';
  };
  if (hasKeeper) setInterval(ask, askKeeperAgainMs).unref();
  return ask;
}
