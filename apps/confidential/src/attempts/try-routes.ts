import type { UnsupportedRequest } from '@sotto/providers';
import {
  type AttemptOutcome,
  type AttemptPlace,
  type FailoverRow,
  failoverTable,
  nextStep,
  providerStatusOf,
  type Route,
} from '@sotto/router';
import { type ProviderStatus, ServiceError } from '@sotto/wire';
import type { ClientLink } from '../answers/client-link.ts';
import type { CallableProvider, ProviderSet } from '../providers/provider-set.ts';
import type { Served } from '../settlement/served.ts';
import type { AttemptFailure, AttemptLimits } from './attempt.ts';
import type { Deadline, Expiry } from './deadline.ts';

/** The success of an attempt, or how it failed before output. */
export type AttemptResult<Success> =
  | { readonly ok: true; readonly success: Success }
  | ({ readonly ok: false } & AttemptFailure);

export interface AttemptRun<Success> {
  readonly result: Promise<AttemptResult<Success>>;
  /** Whether the provider may work for the request by now. If absent, it may from the start. */
  hasBegun?(): boolean;
  abort(): void;
}

interface Candidate {
  readonly route: Route;
  readonly provider: CallableProvider;
}

/** The client, as far as `tryRoutes` must know it. */
type ClientPresence = Pick<ClientLink, 'hasLeft' | 'onLeft'>;

export interface TryRoutesOptions<Success> {
  readonly routes: readonly Route[];
  /** Whether the request is encrypted to its provider. */
  readonly encrypted: boolean;
  readonly providers: ProviderSet;
  readonly client: ClientPresence;
  readonly deadline: Deadline;
  readonly attempt: (route: Route, provider: CallableProvider, limits: AttemptLimits) => AttemptRun<Success>;
  readonly onAttempt: (count: number) => void;
  readonly onFailed: (route: Route, failure: AttemptFailure, startedAt: number) => void;
  /** Called once, after this time without output. From then on no other route can follow. */
  readonly commit?: { readonly afterMs: number; readonly onCommit: (route: Route) => void } | undefined;
  readonly now: () => number;
  readonly monotonicNow: () => number;
}

/** The attempt that had output. */
export interface TriedAndServed<Success> {
  readonly end: 'served';
  readonly route: Route;
  readonly success: Success;
  /** From the attempt's start to its first output; for a whole answer, to its end. */
  readonly tookMs: number;
}

/** The attempt that was running when the client left. */
export interface AbandonedAttempt {
  readonly route: Route;
  /** From the attempt's start until the client left. */
  readonly tookMs: number;
}

export type Tried<Success> =
  | TriedAndServed<Success>
  | { readonly end: 'client_left'; readonly abandoned: AbandonedAttempt | undefined }
  | {
      readonly end: 'refused';
      readonly error: ServiceError;
      /** Why the last attempt failed. */
      readonly usageError: FailoverRow['usageError'];
      /** The class of the status with which the last provider refused. */
      readonly providerStatus?: ProviderStatus | undefined;
      /** Work that the client pays for although it gets no answer. */
      readonly spent?: Served;
    };

/**
 * Tries the routes of a plan in order until one has output. It tries each at most once, and skips routes of a provider
 * that has failed as a whole. It stops when the client has left or the request's time is over.
 */
export async function tryRoutes<Success>(options: TryRoutesOptions<Success>): Promise<Tried<Success>> {
  const { routes, encrypted, client, deadline, now, monotonicNow } = options;
  const left: Candidate[] = routes.flatMap((route) => {
    const provider = options.providers.get(route.providerId);
    return provider === undefined ? [] : [{ route, provider }];
  });
  let attempts = 0;
  const retries = new Set<FailoverRow['retry']>();
  const { commit } = options;
  const beganAt = monotonicNow();
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    const { route, provider } = next;
    if (client.hasLeft) return { end: 'client_left', abandoned: undefined };
    // The request came, or its last attempt failed, during the shutdown.
    if (deadline.expired === 'shut_down')
      return { end: 'refused', error: wentAway(retries.has('may_pay_twice')), usageError: 'timeout' };
    attempts += 1;
    options.onAttempt(attempts);
    const startedAt = now();
    const begunAt = monotonicNow();
    const { first_byte_ms, idle_ms } = provider.entry.timeouts;
    const commitsInMs = commit && Math.max(0, commit.afterMs - (begunAt - beganAt));
    // The last candidate may think for long, and so may one that nothing can follow.
    const isPressed = left.length > 0 && (commitsInMs === undefined || commitsInMs > first_byte_ms);
    const limits = { firstByteMs: isPressed ? first_byte_ms : undefined, idleMs: idle_ms };
    const run = options.attempt(route, provider, limits);
    const committing =
      commitsInMs === undefined
        ? undefined
        : setTimeout(() => {
            left.length = 0;
            commit?.onCommit(route);
          }, commitsInMs);
    const result = await untilInterrupted(run, client, deadline).finally(() => clearTimeout(committing));
    const tookMs = monotonicNow() - begunAt;
    const mayHaveWorked = run.hasBegun?.() ?? true;
    if (result === 'client_left') {
      return { end: 'client_left', abandoned: mayHaveWorked ? { route, tookMs } : undefined };
    }
    if (result === 'shut_down') {
      return { end: 'refused', error: wentAway(retries.has('may_pay_twice') || mayHaveWorked), usageError: 'timeout' };
    }
    if (result === 'out_of_time') {
      // If earlier attempts used up the time, silence says nothing about this provider.
      const hadItsTime = attempts === 1 || tookMs >= first_byte_ms;
      if (hadItsTime) options.onFailed(route, { outcome: 'timeout' }, startedAt);
      const place = { attempt: attempts, remaining: 0, encrypted };
      return {
        end: 'refused',
        error: refusal({ outcome: 'timeout' }, place, {
          mustNotRetry: mayHaveWorked || forbidsRetry(retries),
          route,
        }),
        usageError: 'timeout',
      };
    }
    if (result.ok) return { end: 'served', route, tookMs, success: result.success };
    options.onFailed(route, result, startedAt);
    const { penalizes, usageError, retry } = failoverTable[result.outcome];
    const wasSent = mayHaveWorked || result.status !== undefined;
    retries.add(retry === 'may_pay_twice' && !wasSent ? 'helps' : retry);
    // One that rejects our key or account does so for every model.
    if (penalizes === 'provider') drop(left, (other) => other.route.providerId === route.providerId);
    // A reload of the registry closed the connections of a provider that it changed, and the plan chose the route by the earlier entry.
    drop(left, (other) => options.providers.get(other.route.providerId) !== other.provider);
    // If the time ended with this attempt, no other can have output. A shutdown has an error of its own.
    const remaining = deadline.expired === 'out_of_time' ? 0 : left.length;
    const place = { attempt: attempts, remaining, encrypted };
    if (result.spent !== undefined) {
      const { message, param, spent } = result;
      const error = new ServiceError('invalid_request', { message, param });
      return { end: 'refused', error, usageError: 'request', spent };
    }
    if (nextStep(result.outcome, place).step === 'answer') {
      return {
        end: 'refused',
        error: refusal(result, place, { mustNotRetry: forbidsRetry(retries), route }),
        usageError,
        providerStatus: providerStatusOf(result.status, result.outcome),
      };
    }
  }
  return { end: 'refused', error: new ServiceError('service_unavailable'), usageError: 'provider' };
}

/** Whether a retry of the whole request could pay twice, or must fail again at every provider. */
const forbidsRetry = (retries: ReadonlySet<FailoverRow['retry']>): boolean =>
  retries.has('may_pay_twice') || (retries.size > 0 && !retries.has('helps'));

/** Removes candidates that cannot serve. */
function drop(left: Candidate[], isGone: (candidate: Candidate) => boolean): void {
  left.splice(0, left.length, ...left.filter((candidate) => !isGone(candidate)));
}

/** The attempt of a request that the provider's API cannot express. It fails before anything is sent. */
export const unsupportedAttempt = ({ unsupported: message, param }: UnsupportedRequest): AttemptRun<never> => ({
  result: Promise.resolve({ ok: false, outcome: 'unprocessable', message, param }),
  hasBegun: () => false,
  abort() {},
});

async function untilInterrupted<Success>(run: AttemptRun<Success>, client: ClientPresence, deadline: Deadline) {
  const result = await new Promise<AttemptResult<Success> | 'client_left' | Expiry>((resolve, reject) => {
    client.onLeft(() => resolve('client_left'));
    deadline.onExpired(resolve);
    if (client.hasLeft) resolve('client_left');
    else if (deadline.expired !== undefined) resolve(deadline.expired);
    run.result.then(resolve, reject);
  });
  client.onLeft(undefined);
  deadline.onExpired(undefined);
  if (typeof result === 'string') run.abort();
  return result;
}

/**
 * Returns the client's error: a single provider's failure in our words, or that no route was left. It also says whether
 * a provider that was tried may have worked for the request.
 */
function refusal(
  { outcome, retryAfterS, message, param }: AttemptFailure,
  place: AttemptPlace,
  { mustNotRetry, route }: { readonly mustNotRetry: boolean; readonly route: Route },
): ServiceError {
  const step = nextStep(outcome, place);
  const type = step.step === 'answer' ? step.error : failoverTable[outcome].aloneAs;
  const details = { mustNotRetry };
  switch (type) {
    case 'invalid_request':
      return new ServiceError(type, { ...details, message: message ?? ownWords[outcome], param });
    case 'provider_error':
      return new ServiceError(type, {
        ...details,
        message: messageOn(outcome, route),
      });
    case 'provider_timeout':
      return new ServiceError(type, {
        ...details,
        message: `The provider \`${route.publicProviderId}\` did not answer in time.`,
      });
    case 'context_too_large':
      return new ServiceError(type, { ...details, message: contextMessage(route) });
    case 'rate_limited':
      return new ServiceError(type, {
        ...details,
        message: `The provider \`${route.publicProviderId}\` is at its own rate limit. ${retryAfterS === undefined ? 'It does not say how long to wait.' : 'Wait as long as `retry-after` says.'}`,
        retryAfterS,
      });
    default:
      return new ServiceError(type, details);
  }
}

/** Says what a provider did, and nothing of the operator's account with it. */
function messageOn(outcome: AttemptOutcome, { publicProviderId: provider }: Route): string {
  if (outcome === 'attestation_failed')
    return `The enclave of the provider \`${provider}\` could not be verified, so nothing was sent to it.`;
  return failoverTable[outcome].retry === 'in_vain'
    ? `The provider \`${provider}\` refused the request. A retry will fail, too, until the operator of this service changes something; the log of the service names the cause.`
    : `The provider \`${provider}\` failed before it produced output.`;
}

/** Returns the error for a request that was running when the process had to stop. */
const wentAway = (mayPayTwice: boolean): ServiceError =>
  new ServiceError('service_unavailable', {
    message: 'The service is being restarted and this request took longer than it could wait. It was not charged.',
    mustNotRetry: mayPayTwice,
  });

/** Clients recognize a context overflow by its first words, and shorten the conversation. */
const contextMessage = ({ contextLength }: Route): string =>
  contextLength === undefined
    ? "This model's maximum context length is exceeded by the prompt and the requested output."
    : `This model's maximum context length is ${contextLength} tokens. The prompt and the requested output do not fit.`;

const ownWords: Partial<Record<AttemptOutcome, string>> = {
  invalid_request: 'The provider refused the request as invalid. Check its parameters against the model.',
  unprocessable:
    'The provider could not process the request: it is too large or asks for something it does not support.',
  content_refused: 'The provider refused the content of the request under its policy.',
};
