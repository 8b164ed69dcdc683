import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import { call } from '../api/call.ts';
import { aboutWhatWasTyped } from '../api/errors.ts';

/** The library is loaded when a passkey is first needed. */
const webauthn = () => import('@simplewebauthn/browser');

/** Whether this browser can use passkeys at this address. Browsers do not support them at numeric addresses. */
export const canUsePasskeys = (): boolean =>
  'PublicKeyCredential' in window && window.isSecureContext && !/^[\d.]+$|^\[/.test(window.location.hostname);

/** The address of this page by name, where passkeys work, if it was opened by a numeric loopback address; else null. */
export function addressForPasskeys(): string | null {
  const { hostname, port, pathname, protocol } = window.location;
  return hostname === '127.0.0.1' || hostname === '[::1]' ? `${protocol}//localhost:${port}${pathname}` : null;
}

/**
 * Has the browser create a passkey, and adds it to the account. `confirmation` proves that the password was just
 * confirmed; leave it out if the account has no password. Rejects if the user cancels.
 */
export async function addPasskey(name: string, confirmation: string | undefined): Promise<void> {
  const { startRegistration } = await webauthn();
  const made: unknown = await call('GET /v1/auth/passkey/generate-register-options');
  // The contract leaves open what only the browser reads.
  const optionsJSON = made as PublicKeyCredentialCreationOptionsJSON;
  const response = await startRegistration({ optionsJSON });
  const body = { response: { ...response }, name, ...(confirmation === undefined ? {} : { confirmation }) };
  await call('POST /v1/auth/passkey/verify-registration', { body });
}

/** Signs in with a passkey that the browser asks for. */
export const signInWithPasskey = async (): Promise<void> => verifyPasskey(await choosePasskey(false));

async function choosePasskey(useBrowserAutofill: boolean): Promise<AuthenticationResponseJSON> {
  const { startAuthentication } = await webauthn();
  const options = await call('GET /v1/auth/passkey/generate-authenticate-options');
  const optionsJSON: PublicKeyCredentialRequestOptionsJSON = { ...options, userVerification: 'required' };
  return startAuthentication({ optionsJSON, useBrowserAutofill });
}

async function verifyPasskey(response: AuthenticationResponseJSON): Promise<void> {
  await aboutWhatWasTyped(call('POST /v1/auth/passkey/verify-authentication', { body: { response: { ...response } } }));
}

/**
 * Offers passkeys by the autofill of the address field, until the signal aborts. Resolves to true when the user has signed
 * in with one, and to false if they cannot be offered or the user did not choose one. Rejects if the chosen one fails.
 */
export async function offerPasskeys(signal: AbortSignal): Promise<boolean> {
  const chosen = await chooseOffered(signal).catch(() => undefined);
  if (chosen === undefined) return false;
  await verifyPasskey(chosen);
  return true;
}

async function chooseOffered(signal: AbortSignal): Promise<AuthenticationResponseJSON | undefined> {
  if (!canUsePasskeys()) return undefined;
  const { browserSupportsWebAuthnAutofill, WebAuthnAbortService } = await webauthn();
  if (!(await browserSupportsWebAuthnAutofill()) || signal.aborted) return undefined;
  signal.addEventListener('abort', () => WebAuthnAbortService.cancelCeremony(), { once: true });
  return choosePasskey(true);
}

/** The sentence for a failed use of a passkey; undefined if the user cancelled. */
export function passkeySentence(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error.name === 'NotAllowedError' || error.name === 'AbortError') return undefined;
  return error.name === 'InvalidStateError' ? 'This device has a passkey of this account already.' : error.message;
}
