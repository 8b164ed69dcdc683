import { verifyGateway, verifyProvider } from '@sotto/attestation';
import { E2eeChat } from '../enclave/e2ee-chat.ts';
import type { IsPinned } from '../enclave/enclave-route.ts';
import { EnclaveSessions } from '../enclave/enclave-sessions.ts';
import { type VerifyProvider, verifyEnclave } from '../enclave/verify-enclave.ts';
import { GatewaySession } from '../gateway/gateway-session.ts';
import type { Platform } from '../gateway/platform.ts';
import type { VerifyGateway } from '../gateway/verify-origin.ts';
import { readOrigin, requireApart } from '../origin.ts';
import { shippedPins } from '../pins/client-pins.ts';
import { pinsOfRoute } from '../pins/enclave-pins.ts';
import { Control } from './control.ts';
import { PrivateExchange } from './private-exchange.ts';
import { fetchOver, type PrivateFetch } from './private-fetch.ts';
import { type DevelopmentOptions, type PrivateFetchOptions, requirePrivateOptions } from './private-options.ts';
import { SentRequests } from './sent-requests.ts';
import { TicketPool } from './ticket-pool.ts';
import { TicketedSender } from './ticketed-sender.ts';

/** What tests put in place: of the doors that have the vendors' roots behind them, among others. No entry of the package takes it. */
interface Replaced {
  readonly verifyGateway?: VerifyGateway;
  readonly verifyProvider?: VerifyProvider;
  readonly fetch?: typeof fetch;
}

/** A private way to one service. */
export interface PrivateClient {
  readonly exchange: PrivateExchange;
  readonly session: GatewaySession;
  /** The confidential origin, without a path. */
  readonly origin: string;
}

/** Asks a chat completion (an OpenAI-shaped body) and answers as the service would: JSON, or events where it streams. */
export type AskE2ee = (body: object, options?: { readonly signal?: AbortSignal }) => Promise<Response>;

/** Puts a private client together from its options and the platform it runs on. Throws `origin_invalid`, `option_invalid`. */
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
  const { origin } = confidential;
  const control = new Control({
    apiKey,
    origin: controlOrigin.origin,
    fetch: replaced.fetch ?? fetch,
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
  const tickets = new TicketPool({ mint: (request, signal) => control.mint(request, signal), now, size: ticketsAhead });
  const sent = new SentRequests(now);
  const sender = new TicketedSender({ session, tickets, sent });
  const enclaves = new EnclaveSessions({
    verify: (route, signal) =>
      verifyEnclave(
        { control, channel: session, pins, verifyProvider: replaced.verifyProvider ?? verifyProvider, now },
        { ...route, privacyClass: 'e2ee' },
        signal,
      ),
    minimumVerdict: options.minimumEnclaveVerdict ?? 'policy_matched',
    now,
    onVerified: options.onEnclaveVerified ?? (() => undefined),
  });
  const isPinned: IsPinned = (route) => pinsOfRoute(pins.providers, route).upstreamModel !== undefined;
  const e2ee = new E2eeChat({ control, sender, enclaves, isPinned, now });
  return {
    exchange: new PrivateExchange({ control, sender, e2ee, sent, e2eeOnly: options.e2eeOnly ?? false }),
    session,
    origin,
  };
}

/** The same as a `fetch`. */
export function makePrivateFetch(platform: Platform, options: PrivateFetchOptions & DevelopmentOptions): PrivateFetch {
  const { exchange, session, origin } = makePrivateClient(platform, options);
  return Object.assign(fetchOver(exchange, origin), {
    verified: () => session.verified(),
    close: () => session.close(),
  });
}

/** The same for chat alone, encrypted end to end. */
export function makeE2eeChat(platform: Platform, options: PrivateFetchOptions & DevelopmentOptions): AskE2ee {
  requirePrivateOptions(options);
  const { exchange, origin } = makePrivateClient(platform, { ...options, e2eeOnly: true });
  const ask = fetchOver(exchange, origin);
  return (body, { signal } = {}) =>
    ask(`${origin}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body), signal: signal ?? null });
}
