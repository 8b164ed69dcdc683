import { verifyGateway, verifyProvider } from '@sotto/attestation';
import { ServiceError } from '@sotto/wire';
import { findEnclave, type IsPinned, readModels } from '../enclave/enclave-route.ts';
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
import { pinsOfRoute } from '../pins/enclave-pins.ts';
import { Control } from '../private/control.ts';

/** The provider whose enclave is to be verified, too. */
export interface EnclaveAsked {
  readonly model: string;
  /** Its public id; by default one of the model's enclaves that is pinned, else the first. */
  readonly provider?: string | undefined;
  /**
   * What it is verified for: to read what only it can (`e2ee`, the default), or to get content from a broker that sees it
   * (`tee`). The service does not choose.
   */
  readonly privacyClass?: 'e2ee' | 'tee' | undefined;
  /** An inference key. It is sent to the control origin and nowhere else; verification is free. */
  readonly apiKey: string;
  /** With or without `/v1`. */
  readonly controlOrigin: string;
}

export interface VerifyOptions {
  /** Which machines are accepted; by default those that this build ships with. */
  readonly pins?: ClientPins;
  readonly enclave?: EnclaveAsked | undefined;
  /** For tests: Unix milliseconds. */
  readonly now?: () => number;
  readonly signal?: AbortSignal;
}

/** Why there is no verification of an enclave: what the service said, or what the client found. */
export interface EnclaveAbsence {
  readonly type: string;
  readonly message: string;
}

/** What a verification found, each hop by itself: what runs at the confidential origin, and what runs at the provider. */
export interface VerificationReport {
  readonly gateway: OriginVerification;
  /** Of the route that was asked for: evidence of another is `untrusted`. */
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
 * Verifies a confidential origin (with or without `/v1`). Throws `origin_invalid`, `option_invalid`; all else is in the
 * report.
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
  if (asked === undefined) return { gateway };
  return { gateway, enclave: await enclaveOf(asked, { platform, origin: checked, pins, now, signal }) };
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
  const control = new Control({ origin: controlOrigin, apiKey, fetch });
  // Nothing but a ticket and a nonce goes over it: it may be whose it will.
  const channel = platform.openChannel(origin, undefined);
  try {
    const listed = await control.read('/v1/models', signal);
    if (!listed.ok) return await absenceOf(listed);
    const models = readModels(await listed.json().catch(() => undefined));
    if (models === undefined) throw new ClientError('control_unreachable');
    const isPinned: IsPinned = (each) => pinsOfRoute(pins.providers, each).upstreamModel !== undefined;
    const route = findEnclave(models, { model, provider, privacyClass, isPinned });
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
