import type { Route } from '@sotto/router';
import type { AttemptRun } from '../attempts/try-routes.ts';
import type { CallableProvider } from '../providers/provider-set.ts';
import type { Enclaves, Reached } from './enclaves.ts';

/**
 * An attempt on a `tee` route: begun on connections into the verified enclave, once there is one. Where the enclave shows
 * another TLS key than was attested, as after it has changed its own, it is verified again and the attempt begun again,
 * once: nothing had been sent.
 */
export function throughEnclave<Success>(
  enclaves: Enclaves,
  { route, provider }: { readonly route: Route; readonly provider: CallableProvider },
  begin: (reached: Reached) => AttemptRun<Success>,
): AttemptRun<Success> {
  let running: AttemptRun<Success> | undefined;
  let isAborted = false;
  const start = async (reached: Reached | undefined): ResultOf<Success> => {
    if (reached === undefined || isAborted) return { ok: false, outcome: 'attestation_failed' };
    running = begin(reached);
    return running.result;
  };
  const opened = () => inTime(enclaves.open(route, provider), provider.entry.timeouts.first_byte_ms);
  const run = async (): ResultOf<Success> => {
    const standing = enclaves.current(route, provider);
    const first = await start(standing ?? (await opened()));
    if (standing === undefined || first.ok || first.outcome !== 'attestation_failed') return first;
    // Nothing had been sent.
    running = undefined;
    const renewed = await opened();
    return start(renewed?.sessionId === standing.sessionId ? undefined : renewed);
  };
  return {
    result: run(),
    hasBegun: () => running !== undefined,
    abort() {
      isAborted = true;
      running?.abort();
    },
  };
}

/** A verification that takes longer goes on for the next request, not for this one. */
async function inTime(opening: Promise<Reached | undefined>, limitMs: number): Promise<Reached | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), limitMs);
  });
  return Promise.race([opening, late]).finally(() => clearTimeout(timer));
}

type ResultOf<Success> = AttemptRun<Success>['result'];
