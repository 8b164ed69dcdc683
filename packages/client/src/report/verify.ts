import { verifyGateway, verifyProvider } from '@sotto/attestation';
import { ServiceError } from '@sotto/wire';
import { familyPinnedBy, findEnclave, readModels } from '../enclave/enclave-route.ts';
import { type EnclaveVerification, verifyEnclave } from '../enclave/verify-enclave.ts';
import { ClientError } from '../errors.ts';
import type { Platform } from '../gateway/platform.ts';
import { type OriginVerification, verifyOrigin } from '../gateway/verify-origin.ts';
import {
  abortSignal,
  callback,
  group,
  type OptionKind,
  oneOf,
  optional,
  ownPins,
  requireOptions,
  text,
} from '../options.ts';
import { readOrigin, requireApart } from '../origin.ts';
import { type ClientPins, shippedPins } from '../pins/client-pins.ts';
import { type ReleaseStanding, releasesOf, vendorOf } from '../pins/running-release.ts';
import { Control } from '../private/control.ts';

/** The provider whose enclave to verify, too. */
export interface EnclaveAsked {
  readonly model: string;
  /** Its public id. Default: a pinned enclave of the model, else the first. */
  readonly provider?: string | undefined;
  /**
   * The use to verify it for. `e2ee` (the default): the client encrypts for the enclave. `tee`: the broker sees the
   * content and sends it on. You choose, not the service.
   */
  readonly privacyClass?: 'e2ee' | 'tee' | undefined;
  /** An inference key. It is sent to the control origin and nowhere else; verification is free. */
  readonly apiKey: string;
  /** With or without `/v1`. */
  readonly controlOrigin: string;
}

export interface VerifyOptions {
  /** The accepted machines. Default: the pins that this build ships with. */
  readonly pins?: ClientPins;
  readonly enclave?: EnclaveAsked | undefined;
  /** For tests: Unix milliseconds. */
  readonly now?: () => number;
  readonly signal?: AbortSignal;
}

/** Why an enclave was not verified: the service's words, or the client's own finding. */
export interface EnclaveAbsence {
  readonly type: string;
  readonly message: string;
}

/** The result of a verification, each hop by itself: the confidential origin and the provider. */
export interface VerificationReport {
  readonly gateway: OriginVerification;
  /** By the pins of the verification. */
  readonly releases: ReleaseStanding;
  /** For the requested route. Evidence of another route is `untrusted`. */
  readonly enclave?: EnclaveVerification | EnclaveAbsence;
}

export const isVerified = (enclave: EnclaveVerification | EnclaveAbsence): enclave is EnclaveVerification =>
  'verdict' in enclave;

const enclaveKinds = {
  model: text,
  provider: optional(text),
  privacyClass: optional(oneOf(['e2ee', 'tee'])),
  apiKey: text,
  controlOrigin: text,
} satisfies Record<keyof EnclaveAsked, OptionKind>;
const kinds = {
  pins: optional(ownPins),
  enclave: optional(group('enclave', enclaveKinds)),
  now: optional(callback),
  signal: optional(abortSignal),
} satisfies Record<keyof VerifyOptions, OptionKind>;

/**
 * Verifies a confidential origin (with or without `/v1`). Throws `origin_invalid`, `option_invalid`. The report holds
 * every other failure.
 */
export async function verifyWith(
  platform: Platform,
  origin: string,
  options: VerifyOptions,
): Promise<VerificationReport> {
  requireOptions(options, kinds);
  const { pins = shippedPins, now = Date.now, signal, enclave } = options;
  const confidential = readOrigin('origin', origin);
  const { origin: checked } = confidential;
  const control = enclave && readOrigin('controlOrigin', enclave.controlOrigin);
  if (control !== undefined) requireApart(control, confidential);
  const asked = enclave && control && { ...enclave, controlOrigin: control.origin };
  const gateway = await verifyOrigin({ platform, verifyGateway, origin: checked, pins: pins.gateway, now, signal });
  const releases = releasesOf(pins, gateway);
  if (asked === undefined) return { gateway, releases };
  return { gateway, releases, enclave: await enclaveOf(asked, { platform, origin: checked, pins, now, signal }) };
}

interface Way {
  readonly platform: Platform;
  readonly origin: string;
  readonly pins: ClientPins;
  readonly now: () => number;
  readonly signal: AbortSignal | undefined;
}

async function enclaveOf(
  { model, provider, privacyClass = 'e2ee', apiKey, controlOrigin }: EnclaveAsked,
  { platform, origin, pins, now, signal }: Way,
): Promise<EnclaveVerification | EnclaveAbsence> {
  const control = new Control({ origin: controlOrigin, apiKey, fetch: platform.controlFetch ?? fetch });
  // This connection carries only a ticket and a nonce, so any TLS key is acceptable.
  const channel = platform.openChannel(origin, undefined);
  try {
    const models = await readModels(control, signal);
    if (models instanceof Response) return await absenceOf(models);
    const route = findEnclave(models, { model, provider, privacyClass, pinnedFamily: familyPinnedBy(pins) });
    const verification = await verifyEnclave({ control, channel, pins, verifyProvider, now }, route, signal);
    return verification instanceof Response ? await absenceOf(verification) : verification;
  } catch (error) {
    if (error instanceof ServiceError) return { type: error.type, message: error.message };
    if (error instanceof ClientError) return { type: error.code, message: error.message };
    if (signal?.aborted) throw signal.reason;
    return { type: 'attestation_unavailable', message: 'The connection failed.' };
  } finally {
    channel.close();
  }
}

async function absenceOf(answer: Response): Promise<EnclaveAbsence> {
  const body = (await answer.json().catch(() => undefined)) as
    | { readonly error?: { readonly type?: unknown; readonly message?: unknown } }
    | undefined;
  const { type, message } = body?.error ?? {};
  return {
    type: typeof type === 'string' ? type : 'attestation_unavailable',
    message: typeof message === 'string' ? message : `The service answered with status ${answer.status}.`,
  };
}

/** Formats a report for programs. A report of recorded evidence says so, and as of when it was checked. */
export function reportJson({ gateway, releases, enclave }: VerificationReport, isRecorded = false): string {
  const { origin, nonce, verifiedAt, verdict, isCurrent, teeType, tlsKeySeen, binding, absence, checks, keySet } =
    gateway;
  const at = new Date(verifiedAt).toISOString();
  return `${JSON.stringify(
    {
      origin,
      nonce,
      ...(isRecorded ? { recorded: true, checked_as_of: at } : { verified_at: at }),
      verdict,
      is_current: isCurrent,
      tee_type: teeType ?? null,
      vendor: vendorOf(teeType) ?? null,
      release: releases.running ?? null,
      newest_release: releases.newest ?? null,
      tls_key_seen: tlsKeySeen,
      binding,
      ...(absence === undefined ? {} : { absence }),
      checks,
      key_set: keySet ?? null,
      ...(enclave === undefined ? {} : { enclave: enclaveJson(enclave) }),
    },
    undefined,
    2,
  )}\n`;
}

function enclaveJson(enclave: EnclaveVerification | EnclaveAbsence): object {
  if (!isVerified(enclave)) return { verdict: 'unavailable', ...enclave };
  const { provider, model, nonce, verifiedAt, verdict, contentVisible, relayAttacks } = enclave;
  const { isCurrent, gpu, checks, sessionId } = enclave;
  return {
    provider,
    model,
    nonce,
    verified_at: new Date(verifiedAt).toISOString(),
    verdict,
    content_visible: contentVisible,
    relay_attacks: relayAttacks ?? null,
    is_current: isCurrent,
    gpu,
    session_id: sessionId ?? null,
    checks,
  };
}
