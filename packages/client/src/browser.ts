import { browserPlatform } from './platform/browser-platform.ts';
import { type AskE2ee, makeE2eeChat, makePrivateFetch } from './private/create-private-fetch.ts';
import type { PrivateFetch } from './private/private-fetch.ts';
import type { DevelopmentOptions, PrivateFetchOptions } from './private/private-options.ts';
import { type VerificationReport, type VerifyOptions, verifyWith } from './report/verify.ts';

export { type AttestedKey, type EnclaveKey, readPublicKey } from './e2ee/enclave-key.ts';
export { type SealOptions, sealChat } from './e2ee/seal-chat.ts';
export type { SealedRequest } from './e2ee/sealed-request.ts';
export type { AcceptableEnclaveVerdict } from './enclave/enclave-sessions.ts';
export type { EnclaveVerification } from './enclave/verify-enclave.ts';
export { ClientError, type ClientErrorCode, clientErrors } from './errors.ts';
export type { AcceptableVerdict } from './gateway/acceptance.ts';
export type { OriginVerification } from './gateway/verify-origin.ts';
export { type ClientPins, shippedPins } from './pins/client-pins.ts';
export type { EnclavePins } from './pins/enclave-pins.ts';
export { readPins } from './pins/read-pins.ts';
export type { AskE2ee } from './private/create-private-fetch.ts';
export type { PrivateFetch } from './private/private-fetch.ts';
export type { PrivateFetchOptions } from './private/private-options.ts';
export { reportJson } from './report/report-json.ts';
export type { VerificationReport, VerifyOptions } from './report/verify.ts';

/**
 * Makes a `fetch` for any OpenAI SDK that speaks the private flow. A browser shows nobody the TLS key of a connection: the
 * check `gateway.tls_key` is not made, the verdict ends at `cryptographically_checked`, and that content reaches the
 * attested machine rests on the certificate. End-to-end encryption does not need it. Throws `origin_invalid`,
 * `option_invalid`.
 */
export const createPrivateFetch = (options: PrivateFetchOptions & DevelopmentOptions): PrivateFetch =>
  makePrivateFetch(browserPlatform, options);

/** Verifies a confidential origin (with or without `/v1`) and reports every check. Throws `origin_invalid`, `option_invalid`. */
export const verify = (origin: string, options: VerifyOptions = {}): Promise<VerificationReport> =>
  verifyWith(browserPlatform, origin, options);

/**
 * Makes a chat that only the provider's verified enclave can read: each request is encrypted here, under new keys, and its
 * answer opened here. Text only: what cannot be encrypted is refused before anything is sent. Throws `origin_invalid`,
 * `option_invalid`.
 */
export const createE2eeChat = (options: PrivateFetchOptions & DevelopmentOptions): AskE2ee =>
  makeE2eeChat(browserPlatform, options);
