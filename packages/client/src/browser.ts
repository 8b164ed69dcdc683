import { browserPlatform } from './platform/browser-platform.ts';
import { type AskE2ee, makeE2eeChat, makePrivateFetch, type PrivateFetch } from './private/create-private-fetch.ts';
import type { DevelopmentOptions, PrivateFetchOptions } from './private/private-options.ts';
import { type VerificationReport, type VerifyOptions, verifyWith } from './report/verify.ts';

export { verifyProviderReceipt, verifyReceipt } from '@sotto/attestation';
export { type AttestedKey, type EnclaveKey, readPublicKey } from './e2ee/enclave-key.ts';
export { type SealOptions, sealChat } from './e2ee/seal-chat.ts';
export type { SealedRequest } from './e2ee/sealed-request.ts';
export type { ReceiptCheck, ReceiptReport } from './enclave/check-receipts.ts';
export type { EnclaveExchange } from './enclave/enclave-exchange.ts';
export type { AcceptableEnclaveVerdict } from './enclave/enclave-sessions.ts';
export type { EnclaveVerification } from './enclave/verify-enclave.ts';
export { ClientError, type ClientErrorCode, clientErrors } from './errors.ts';
export type { AcceptableVerdict } from './gateway/acceptance.ts';
export type { OriginVerification } from './gateway/verify-origin.ts';
export { type ClientPins, type EnclavePins, readPins, shippedPins } from './pins/client-pins.ts';
export type { PinnedRelease, ReleaseLog } from './pins/pinned-release.ts';
export { type ReleaseStanding, releasesOf } from './pins/running-release.ts';
export type { AskE2ee, PrivateFetch } from './private/create-private-fetch.ts';
export type { PrivateFetchOptions } from './private/private-options.ts';
export { reportJson, type VerificationReport, type VerifyOptions } from './report/verify.ts';

/**
 * Returns a `fetch` for any OpenAI SDK that speaks the private flow. Throws `origin_invalid`, `option_invalid`.
 *
 * A browser never shows a page the TLS key of a connection, or what it exports. The checks `gateway.tls_key` and
 * `gateway.channel` are therefore skipped, and the verdict is at most `cryptographically_checked`. You rely on the certificate for content to reach the attested
 * machine. End-to-end encryption does not rely on it, unless
 * `acceptRelayAttacks` is set.
 */
export const createPrivateFetch = (options: PrivateFetchOptions & DevelopmentOptions): PrivateFetch =>
  makePrivateFetch(browserPlatform, options);

/** Verifies a confidential origin (with or without `/v1`) and reports every check. Throws `origin_invalid`, `option_invalid`. */
export const verify = (origin: string, options: VerifyOptions = {}): Promise<VerificationReport> =>
  verifyWith(browserPlatform, origin, options);

/**
 * Returns a chat function whose content only the provider's verified enclave can read. It encrypts each request here,
 * under new keys, and decrypts its answer here. It takes text only: it refuses anything else before it sends a byte. It
 * also refuses providers whose protocol lets a malicious broker read the chat, unless `acceptRelayAttacks` is set.
 * Throws `origin_invalid`, `option_invalid`.
 */
export const createE2eeChat = (options: PrivateFetchOptions & DevelopmentOptions): AskE2ee =>
  makeE2eeChat(browserPlatform, options);
