import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import { call } from '../api/call.ts';

/** The library is loaded when a passkey is first needed. */
const webauthn = () => import('@simplewebauthn/browser');

/** Whether this browser, at this address, can use passkeys: browsers know none of numeric addresses. */
export const canUsePasskeys = (): boolean =>
  'PublicKeyCredential' in window && window.isSecureContext && !/^[\d.]+$|^\[/.test(window.location.hostname);

/** Where passkeys work for whoever opened a numeric address of this machine; null elsewhere. */
export function addressForPasskeys(): string | null {
  const { hostname, port, pathname, protocol } = window.location;
  return hostname === '127.0.0.1' || hostname === '[::1]' ? `${protocol}//localhost:${port}${pathname}` : null;
}

/**
 * Has the browser make a passkey, and adds it to the account. `confirmation` stands for the password that was just
 * confirmed; undefined: the account has none. Rejects where its owner does not want to.
 */
export async function addPasskey(name: string, confirmation: string | undefined): Promise<void> {
  const { startRegistration } = await webauthn();
  const made = await call('GET /v1/auth/passkey/generate-register-options');
  // The schema leaves to the browser what only it reads.
  const optionsJSON = made as unknown as PublicKeyCredentialCreationOptionsJSON;
  const response = await startRegistration({ optionsJSON });
  const body = { response: { ...response }, name, ...(confirmation === undefined ? {} : { confirmation }) };
  await call('POST /v1/auth/passkey/verify-registration', { body });
}

/** Signs in with a passkey that the browser asks for. */
export async function signInWithPasskey(useBrowserAutofill = false): Promise<void> {
  const { startAuthentication } = await webauthn();
  const options = await call('GET /v1/auth/passkey/generate-authenticate-options');
  const optionsJSON: PublicKeyCredentialRequestOptionsJSON = { ...options, userVerification: 'required' };
  const response = await startAuthentication({ optionsJSON, useBrowserAutofill });
  await call('POST /v1/auth/passkey/verify-authentication', { body: { response: { ...response } } });
}

/**
 * Offers passkeys where the address is typed, for as long as nothing aborts it. Resolves to true when one has signed in,
 * and to false where the browser cannot, or nobody chose one.
 */
export async function offerPasskeys(signal: AbortSignal): Promise<boolean> {
  if (!canUsePasskeys()) return false;
  const { browserSupportsWebAuthnAutofill, WebAuthnAbortService } = await webauthn();
  if (!(await browserSupportsWebAuthnAutofill()) || signal.aborted) return false;
  signal.addEventListener('abort', () => WebAuthnAbortService.cancelCeremony(), { once: true });
  return signInWithPasskey(true).then(
    () => true,
    () => false,
  );
}

/** What to say of a ceremony that failed; undefined where its owner simply did not want to. */
export function passkeySentence(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error.name === 'NotAllowedError' || error.name === 'AbortError') return undefined;
  return error.name === 'InvalidStateError' ? 'This device has a passkey of this account already.' : error.message;
}
