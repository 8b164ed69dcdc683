import type { Upstream } from '@sotto/providers';
import type { Route } from '@sotto/router';
import type { AttemptResult, AttemptRun } from '../attempts/try-routes.ts';
import type { CallableProvider } from '../providers/provider-set.ts';
import type { RequestReceipt } from '../receipts/request-receipt.ts';
import type { Enclaves, Reached } from '../tee/enclaves.ts';
import type { InferenceDependencies } from './deps.ts';

/** An attempt that is about to begin. */
export interface Approach {
  readonly route: Route;
  readonly provider: CallableProvider;
  /** Present if the client asked for a receipt. */
  readonly receipt: RequestReceipt | undefined;
  /** The ID by which the client can ask for the provider's own receipt. Undefined if the provider has no enclave. */
  readonly providerRequestId: string | undefined;
  /** The secret by which the client can ask this broker for both receipts. */
  readonly receiptSecret: string | undefined;
}

/**
 * Begins an attempt as the privacy class of its route requires. A `tee` route takes a connection into its verified
 * enclave. Our receipt and the provider's see what passes.
 */
export function reachProvider<Success>(
  { enclaves, providerReceipts }: Pick<InferenceDependencies, 'enclaves' | 'providerReceipts'>,
  { route, provider, receipt, providerRequestId: id, receiptSecret }: Approach,
  begin: (provider: CallableProvider) => AttemptRun<Success>,
): AttemptRun<Success> {
  const witnessed = (upstream: Upstream, sessionId?: string): Upstream =>
    receipt?.witness(upstream, route, sessionId) ?? upstream;
  if (id === undefined) {
    return begin(receipt === undefined ? provider : { ...provider, upstream: witnessed(provider.upstream) });
  }
  const watched = (upstream: Upstream, sessionId: string | undefined): CallableProvider => ({
    ...provider,
    upstream: providerReceipts.watch({ id, route, provider, sessionId, receiptSecret }, witnessed(upstream, sessionId)),
  });
  // Content that is encrypted to the enclave needs no connection that ends in it.
  if (route.privacyClass === 'e2ee') return begin(watched(provider.upstream, undefined));
  return throughEnclave(enclaves, { route, provider }, ({ upstream, sessionId }) =>
    begin(watched(upstream, sessionId)),
  );
}

/**
 * Begins an attempt on a `tee` route, on connections into its verified enclave. An enclave that has changed its TLS key
 * shows another than was attested. It is then verified again and the attempt begun again, once, because nothing had
 * been sent.
 */
export function throughEnclave<Success>(
  enclaves: Enclaves,
  { route, provider }: { readonly route: Route; readonly provider: CallableProvider },
  begin: (reached: Reached) => AttemptRun<Success>,
): AttemptRun<Success> {
  let running: AttemptRun<Success> | undefined;
  let isAborted = false;
  const start = async (reached: Reached | undefined): Promise<AttemptResult<Success>> => {
    if (reached === undefined || isAborted) return { ok: false, outcome: 'attestation_failed' };
    running = begin(reached);
    return running.result;
  };
  const opened = () => inTime(enclaves.open(route, provider), provider.entry.timeouts.first_byte_ms);
  const run = async (): Promise<AttemptResult<Success>> => {
    const standing = enclaves.current(route, provider);
    const first = await start(standing ?? (await opened()));
    if (standing === undefined || first.ok || first.outcome !== 'attestation_failed') return first;
    running = undefined;
    const renewed = await opened();
    return start(renewed?.sessionId === standing.sessionId ? undefined : renewed);
  };
  return {
    result: run(),
    hasBegun: () => running?.hasBegun?.() ?? running !== undefined,
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
