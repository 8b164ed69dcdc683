import { type NodePlatformOptions, nodePlatform } from './platform/node-platform.ts';
import { type AskE2ee, makeE2eeChat, makePrivateFetch, type PrivateFetch } from './private/create-private-fetch.ts';
import type { DevelopmentOptions, PrivateFetchOptions } from './private/private-options.ts';
import { type VerificationReport, type VerifyOptions, verifyWith } from './report/verify.ts';

export { verifyProviderReceipt, verifyReceipt } from '@sotto/attestation';
export {
  type BootFiles,
  compareWithRecorded,
  cpuTypes,
  type DstackMeasurement,
  type HashedFile,
  hashFile,
  MeasureError,
  measureBoot,
  measureDstack,
  measureSnp,
  measureTdx,
  type SnpMachineOptions,
  type TdxMachineOptions,
  tdxMachines,
} from '@sotto/attestation/measure';
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
export { withRelease } from './pins/pins-with-release.ts';
export { type ReleaseStanding, releasesOf } from './pins/running-release.ts';
export type { AskE2ee, PrivateFetch } from './private/create-private-fetch.ts';
export type { PrivateFetchOptions } from './private/private-options.ts';
export {
  type ReleaseQuestion,
  type ReleaseReading,
  readRelease,
  type VerifiedRelease,
} from './releases/read-release.ts';
export { type ReleaseCheckName, releaseChecks } from './releases/refusal.ts';
export { type ReleaseStatement, releasePredicateType } from './releases/statement.ts';
export { reportJson, type VerificationReport, type VerifyOptions } from './report/verify.ts';

/** Options that only Node supports. */
export type NodeOptions = Partial<Omit<NodePlatformOptions, 'isolated' | 'relaysPlainHttp'>>;

/**
 * Returns a `fetch` for any OpenAI SDK that speaks the private flow. Set the SDK's `baseURL` to the confidential origin
 * with `/v1`; the SDK's own key is never sent.
 *
 * It gets tickets from the control origin with `apiKey`. It sends content only to the confidential origin, and only
 * over connections that an accepted attestation covers, or whose TLS key it names if the service offers no more. Throws
 * `origin_invalid`, `option_invalid`.
 */
export function createPrivateFetch({
  selfSigned = false,
  relay,
  ...options
}: PrivateFetchOptions & DevelopmentOptions & NodeOptions): PrivateFetch {
  return makePrivateFetch(nodePlatform({ selfSigned, relay }), options);
}

/** Verifies a confidential origin (with or without `/v1`) and reports every check. Throws `origin_invalid`, `option_invalid`. */
export async function verify(
  origin: string,
  { selfSigned = false, relay, ...options }: VerifyOptions & NodeOptions = {},
): Promise<VerificationReport> {
  return verifyWith(nodePlatform({ selfSigned, relay }), origin, options);
}

/**
 * Returns a chat function whose content only the provider's verified enclave can read. It encrypts each request here,
 * under new keys, and decrypts its answer here. It takes text only: it refuses anything else before it sends a byte. It
 * also refuses providers whose protocol lets a malicious broker read the chat, unless `acceptRelayAttacks` is set.
 * Throws `origin_invalid`, `option_invalid`.
 */
export function createE2eeChat({
  selfSigned = false,
  relay,
  ...options
}: PrivateFetchOptions & DevelopmentOptions & NodeOptions): AskE2ee {
  return makeE2eeChat(nodePlatform({ selfSigned, relay }), options);
}
