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
  const run = async (): ResultOf<Success> => {
    const standing = enclaves.current(route, provider);
    const first = await start(standing ?? (await enclaves.open(route, provider)));
    if (standing === undefined || first.ok || first.outcome !== 'attestation_failed') return first;
    const renewed = await enclaves.open(route, provider);
    return start(renewed?.sessionId === standing.sessionId ? undefined : renewed);
  };
  return {
    result: run(),
    abort() {
      isAborted = true;
      running?.abort();
    },
  };
}

type ResultOf<Success> = AttemptRun<Success>['result'];
