import { verifyGateway, verifyProvider } from '@sotto/attestation';
import { operationPaths, ServiceError } from '@sotto/wire';
import * as z from 'zod';
import { answerOfRefusal } from '../answer.ts';
import { checkReceipts, type ReceiptReport } from '../enclave/check-receipts.ts';
import { E2eeChat } from '../enclave/e2ee-chat.ts';
import type { EnclaveExchange } from '../enclave/enclave-exchange.ts';
import { type AcceptsRelayAttacks, familyPinnedBy } from '../enclave/enclave-route.ts';
import { EnclaveSessions } from '../enclave/enclave-sessions.ts';
import { type VerifyProvider, verifyEnclave } from '../enclave/verify-enclave.ts';
import { GatewaySession } from '../gateway/gateway-session.ts';
import type { Platform } from '../gateway/platform.ts';
import type { OriginVerification, VerifyGateway } from '../gateway/verify-origin.ts';
import { readOrigin, requireApart } from '../origin.ts';
import { pinsOfRoute, shippedPins } from '../pins/client-pins.ts';
import { Control } from './control.ts';
import { PrivateExchange } from './private-exchange.ts';
import { type DevelopmentOptions, type PrivateFetchOptions, requirePrivateOptions } from './private-options.ts';
import { SentRequests } from './sent-requests.ts';
import { TicketPool, type TicketPoolOptions } from './ticket-pool.ts';
import { TicketedSender } from './ticketed-sender.ts';

/**
 * Replacements for tests, for example of the verifiers with the vendors' root certificates. The package does not export
 * them.
 */
interface Replaced {
  readonly verifyGateway?: VerifyGateway;
  readonly verifyProvider?: VerifyProvider;
  readonly fetch?: typeof fetch;
  readonly schedule?: TicketPoolOptions['schedule'];
}

/** A private way to one service. */
export interface PrivateClient {
  readonly exchange: PrivateExchange;
  readonly session: GatewaySession;
  /** Asks control for the preferences in effect. */
  readonly readEffective: () => Promise<Response>;
  /** Asks control whether one process runs it and the broker. False if it does not say so. */
  readonly isOneProcess: () => Promise<boolean>;
  /** The confidential origin, without a path. */
  readonly origin: string;
}

/** Asks for a chat completion with an OpenAI-shaped body. Resolves to JSON, or to events if the body sets `stream`. */
export type AskE2ee = (body: object, options?: { readonly signal?: AbortSignal }) => Promise<Response>;

const oneProcess = z.object({ separate_processes: z.object({ enabled: z.literal(false) }) });

/** Builds a private client from its options and its platform. Throws `origin_invalid`, `option_invalid`. */
export function makePrivateClient(
  platform: Platform,
  options: PrivateFetchOptions & DevelopmentOptions,
  replaced: Replaced = {},
): PrivateClient {
  requirePrivateOptions(options);
  const { apiKey, pins = shippedPins, ticketsAhead = 2, maxAgeMs = 10 * 60_000, now = Date.now } = options;
  const strongest = platform.seesTlsKeys ? 'hardware_verified' : 'cryptographically_checked';
  const confidential = readOrigin('baseOrigin', options.baseOrigin);
  const controlOrigin = readOrigin('controlOrigin', options.controlOrigin);
  requireApart(controlOrigin, confidential);
  for (const each of [controlOrigin, confidential]) platform.requireReachable?.(each.origin);
  const { origin } = confidential;
  const control = new Control({
    apiKey,
    origin: controlOrigin.origin,
    fetch: replaced.fetch ?? platform.controlFetch ?? fetch,
  });
  const session = new GatewaySession({
    ...options,
    platform,
    verifyGateway: replaced.verifyGateway ?? verifyGateway,
    origin,
    pins,
    minimumVerdict: options.minimumVerdict ?? strongest,
    now,
    maxAgeMs,
    onVerified: options.onVerified ?? (() => undefined),
  });
  const tickets = new TicketPool({
    mint: (request, signal) => control.mint(request, signal),
    mintSeveral: (request, count) => control.mintSeveral(request, count),
    now,
    size: ticketsAhead,
    random: Math.random,
    schedule: replaced.schedule ?? inBackground,
  });
  const sent = new SentRequests(now);
  const sender = new TicketedSender({ session, tickets, sent });
  // Pins that ship with a build must not weaken what its user asked for.
  const ownProviders = pins === shippedPins ? undefined : pins.providers;
  const acceptsRelayAttacks: AcceptsRelayAttacks = (route) =>
    options.acceptRelayAttacks === true || pinsOfRoute(ownProviders, route).acceptsRelayAttacks;
  const enclaves = new EnclaveSessions({
    verify: (route, signal) =>
      verifyEnclave(
        { control, channel: session, pins, verifyProvider: replaced.verifyProvider ?? verifyProvider, now },
        { ...route, privacyClass: 'e2ee' },
        signal,
      ),
    minimumVerdict: options.minimumEnclaveVerdict ?? 'policy_matched',
    acceptsRelayAttacks,
    now,
    onVerified: options.onEnclaveVerified ?? (() => undefined),
  });
  const pinnedFamily = familyPinnedBy(pins);
  const e2ee = new E2eeChat({
    ...{ control, sender, enclaves, pinnedFamily, acceptsRelayAttacks, now },
    keySet: async (signal) => (await session.verified(signal)).keySet,
    onExchange: options.onEnclaveExchange ?? (() => undefined),
  });
  return {
    exchange: new PrivateExchange({ control, sender, e2ee, sent, e2eeOnly: options.e2eeOnly ?? false }),
    session,
    readEffective: () => control.read('/v1/routing/effective'),
    isOneProcess: async () => {
      const answer = await control.read('/v1/capabilities').catch(() => undefined);
      return oneProcess.safeParse(await answer?.json().catch(() => undefined)).success;
    },
    origin,
  };
}

/** Calls back after a time in ms, if the process is still running then. Browsers have no `unref`. */
const inBackground: TicketPoolOptions['schedule'] = (callback, ms) => {
  const timer: { unref?: () => void } | number = setTimeout(callback, ms);
  if (typeof timer === 'object') timer.unref?.();
};

/** Returns the private client as a `fetch`. */
export function makePrivateFetch(
  platform: Platform,
  options: PrivateFetchOptions & DevelopmentOptions,
  replaced: Replaced = {},
): PrivateFetch {
  const { exchange, session, origin } = makePrivateClient(platform, options, replaced);
  return Object.assign(fetchOver(exchange, origin), {
    verified: () => session.verified(),
    checkReceipts: (of: EnclaveExchange, secret: string, signal?: AbortSignal) =>
      checkReceipts({ session, exchange: of, secret, signal }),
    close: () => session.close(),
  });
}

/** Returns the private client as a chat function, always encrypted end to end. */
export function makeE2eeChat(platform: Platform, options: PrivateFetchOptions & DevelopmentOptions): AskE2ee {
  requirePrivateOptions(options);
  const { exchange, origin } = makePrivateClient(platform, { ...options, e2eeOnly: true });
  const ask = fetchOver(exchange, origin);
  return (body, { signal } = {}) =>
    ask(`${origin}${operationPaths.chat}`, { method: 'POST', body: JSON.stringify(body), signal: signal ?? null });
}

/**
 * A `fetch` for any OpenAI SDK whose base address is the confidential origin. It throws only if none of the content has
 * left. If content may have been sent and lost, it returns an answer with `x-should-retry: false`, so that no SDK buys
 * it again.
 */
export interface PrivateFetch {
  (input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Verifies the confidential origin now if no verification is valid. Throws the errors of the first request. */
  verified(): Promise<OriginVerification>;
  /**
   * Fetches and verifies the receipts of an encrypted exchange (`onEnclaveExchange`): of the broker, and of the enclave.
   * `secret` is the header `x-router-receipt` that was sent with it. It asks the broker, so that control does not learn
   * of it. It waits for the enclave's receipt for half a minute at most.
   */
  checkReceipts(exchange: EnclaveExchange, secret: string, signal?: AbortSignal): Promise<ReceiptReport>;
  /** Closes the connections for good. Requests whose content was sent may end; all others reject with `AbortError`. */
  close(): void;
}

/** Wraps `exchange` in a function with the signature of `fetch`, for one confidential origin. */
export const fetchOver =
  (exchange: PrivateExchange, confidentialOrigin: string) =>
  async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const { origin, pathname, search } = new URL(request.url);
    if (origin !== confidentialOrigin) {
      return answerOfRefusal(
        new ServiceError('not_found', {
          message: `This fetch was made for ${confidentialOrigin} and sends nothing elsewhere.`,
        }),
      );
    }
    const answer = await exchange.ask({
      method: request.method,
      path: `${pathname}${search}`,
      header: (name) => request.headers.get(name) ?? undefined,
      body: request.body === null ? '' : await request.text(),
      signal: request.signal,
    });
    return answer.toResponse();
  };
