import type { UnsupportedRequest } from '@sotto/providers';
import { type AttemptOutcome, type AttemptPlace, failoverTable, nextStep, type Route } from '@sotto/router';
import { ServiceError } from '@sotto/wire';
import type { CallableProvider, ProviderSet } from '../providers/provider-set.ts';
import type { Served } from '../settlement/request-settlement.ts';
import type { AttemptFailure } from './attempt.ts';
import type { ClientLink } from './client-link.ts';
import type { Deadline, Expiry } from './deadline.ts';

/** One attempt of an operation: resolves with what served, or with how it failed before output. */
export interface AttemptRun<Success> {
  readonly result: Promise<
    { readonly ok: true; readonly success: Success } | ({ readonly ok: false } & AttemptFailure)
  >;
  /** Whether the provider may have been asked by now. Absent: from the start. */
  hasBegun?(): boolean;
  abort(): void;
}

export interface TryRoutesOptions<Success> {
  readonly routes: readonly Route[];
  /** Whether the request is encrypted to its provider. */
  readonly encrypted: boolean;
  readonly providers: ProviderSet;
  readonly client: ClientLink;
  readonly deadline: Deadline;
  /** Begins an attempt. `hasSuccessor` tells whether another route could follow it. */
  readonly attempt: (route: Route, provider: CallableProvider, hasSuccessor: boolean) => AttemptRun<Success>;
  readonly onAttempt: (count: number) => void;
  readonly onFailed: (route: Route, failure: AttemptFailure, startedAt: number) => void;
  readonly now: () => number;
  readonly monotonicNow: () => number;
}

/** The attempt that had output. */
export interface TriedAndServed<Success> {
  readonly end: 'served';
  readonly route: Route;
  readonly success: Success;
  /** From its start to its first output; of a whole answer, to its end. */
  readonly tookMs: number;
}

/** The attempt that was under way when the client left. */
export interface AbandonedAttempt {
  readonly route: Route;
  /** From its start until the client left. */
  readonly tookMs: number;
}

export type Tried<Success> =
  | TriedAndServed<Success>
  | { readonly end: 'client_left'; readonly abandoned: AbandonedAttempt | undefined }
  | {
      readonly end: 'refused';
      readonly error: ServiceError;
      /** The work that the client pays for although it has no answer. */
      readonly spent?: Served;
    };

/** Failures after which nobody knows whether the provider has worked, and charged us, or not. */
const ambiguous: ReadonlySet<AttemptOutcome> = new Set([
  'timeout',
  'network_failure',
  'malformed_answer',
  'server_error',
]);
const defaultRetryAfterS = 30;

/**
 * Tries the routes of a plan in order until one has output (interface 3.3). Each is tried at most once, none of a provider
 * that has failed as a whole, and none after the client has left or the request's time is over.
 */
export async function tryRoutes<Success>(options: TryRoutesOptions<Success>): Promise<Tried<Success>> {
  const { routes, encrypted, client, deadline, now, monotonicNow } = options;
  const left = routes.flatMap((route) => {
    const provider = options.providers.get(route.providerId);
    return provider === undefined ? [] : [{ route, provider }];
  });
  let attempts = 0;
  let isAmbiguous = false;
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    const { route, provider } = next;
    if (client.hasLeft) return { end: 'client_left', abandoned: undefined };
    // It came when the process was about to go.
    if (deadline.expired === 'shut_down') return { end: 'refused', error: wentAway(isAmbiguous) };
    attempts += 1;
    options.onAttempt(attempts);
    const startedAt = now();
    const begunAt = monotonicNow();
    const run = options.attempt(route, provider, left.length > 0);
    const result = await untilInterrupted(run, client, deadline);
    const tookMs = monotonicNow() - begunAt;
    // Nobody works for a request whose enclave is still being verified.
    const mayHaveWorked = run.hasBegun?.() ?? true;
    if (result === 'client_left') {
      return { end: 'client_left', abandoned: mayHaveWorked ? { route, tookMs } : undefined };
    }
    if (result === 'shut_down') return { end: 'refused', error: wentAway(isAmbiguous || mayHaveWorked) };
    if (result === 'out_of_time') {
      // Where those before it took the time, its silence says nothing about the provider.
      const hadItsTime = attempts === 1 || tookMs >= provider.entry.timeouts.first_byte_ms;
      if (hadItsTime) options.onFailed(route, { outcome: 'timeout' }, startedAt);
      const place = { attempt: attempts, remaining: 0, encrypted };
      return {
        end: 'refused',
        error: refusal({ outcome: 'timeout' }, place, { isAmbiguous: isAmbiguous || mayHaveWorked, route }),
      };
    }
    if (result.ok) return { end: 'served', route, tookMs, success: result.success };
    options.onFailed(route, result, startedAt);
    isAmbiguous ||= ambiguous.has(result.outcome);
    if (failoverTable[result.outcome].penalizes === 'provider') withoutProvider(left, route.providerId);
    const place = { attempt: attempts, remaining: left.length, encrypted };
    if (result.spent !== undefined) {
      const { message, param, spent } = result;
      const error = new ServiceError('invalid_request', { message, param });
      return { end: 'refused', error, spent };
    }
    if (nextStep(result.outcome, place).step === 'answer') {
      return { end: 'refused', error: refusal(result, place, { isAmbiguous, route }) };
    }
  }
  return { end: 'refused', error: new ServiceError('service_unavailable') };
}

/** What a provider refuses for its key or its account, it refuses for every model. */
function withoutProvider(left: { readonly route: Route }[], providerId: string): void {
  for (let at = left.length - 1; at >= 0; at -= 1) if (left[at]?.route.providerId === providerId) left.splice(at, 1);
}

/** The attempt of a request that the provider's API cannot say: it fails before anything is sent. */
export const unsupportedAttempt = ({ unsupported: message, param }: UnsupportedRequest): AttemptRun<never> => ({
  result: Promise.resolve({ ok: false, outcome: 'unprocessable', message, param }),
  abort() {},
});

async function untilInterrupted<Success>(run: AttemptRun<Success>, client: ClientLink, deadline: Deadline) {
  const result = await new Promise<Awaited<typeof run.result> | 'client_left' | Expiry>((resolve, reject) => {
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
 * What the client is told: a single provider's failure in our own words, or that nobody was left; and whether any of those
 * that were tried may have worked for it.
 */
function refusal(
  { outcome, retryAfterS, message, param }: AttemptFailure,
  place: AttemptPlace,
  { isAmbiguous, route }: { readonly isAmbiguous: boolean; readonly route: Route },
): ServiceError {
  const step = nextStep(outcome, place);
  const type = step.step === 'answer' ? step.error : failoverTable[outcome].aloneAs;
  const details = { ambiguous: isAmbiguous };
  switch (type) {
    case 'invalid_request':
      return new ServiceError(type, { ...details, message: message ?? ownWords[outcome], param });
    case 'provider_error':
      return new ServiceError(type, { ...details, message: ownWords[outcome] });
    case 'context_too_large':
      return new ServiceError(type, { ...details, message: contextMessage(route) });
    case 'rate_limited':
      return new ServiceError(type, {
        ...details,
        message: `The provider \`${route.publicProviderId}\` is at its own rate limit. Wait as long as \`retry-after\` says.`,
        retryAfterS: retryAfterS ?? defaultRetryAfterS,
      });
    default:
      return new ServiceError(type, details);
  }
}

/** What a client is told whose request was under way when the process had to go. */
const wentAway = (isAmbiguous: boolean): ServiceError =>
  new ServiceError('service_unavailable', {
    message: 'The service is being restarted and this request took longer than it could wait. It was not charged.',
    ambiguous: isAmbiguous,
  });

/** Agents recognise a context overflow by these words, and shorten the conversation. */
const contextMessage = ({ contextLength }: Route): string =>
  contextLength === undefined
    ? 'The prompt is too long: the prompt and the requested output exceed the context window of this model.'
    : `The prompt and the requested output do not fit. This model's maximum context length is ${contextLength} tokens.`;

const ownWords: Partial<Record<AttemptOutcome, string>> = {
  invalid_request: 'The provider refused the request as invalid. Check its parameters against the model.',
  unprocessable:
    'The provider could not process the request: it is too large or asks for something it does not support.',
  content_refused: 'The provider refused the content of the request under its policy.',
  attestation_failed: "The provider's enclave could not be verified, so nothing was sent to it.",
};
