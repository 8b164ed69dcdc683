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

/** Has the browser make a passkey, and adds it to the account. Rejects where its owner does not want to. */
export async function addPasskey(name: string): Promise<void> {
  const { startRegistration } = await webauthn();
  const optionsJSON = await call<PublicKeyCredentialCreationOptionsJSON>('/auth/passkey/generate-register-options');
  const response = await startRegistration({ optionsJSON });
  await call('/auth/passkey/verify-registration', { method: 'POST', body: { response, name } });
}

/** Signs in with a passkey that the browser asks for. */
export async function signInWithPasskey(useBrowserAutofill = false): Promise<void> {
  const { startAuthentication } = await webauthn();
  const options = await call<PublicKeyCredentialRequestOptionsJSON>('/auth/passkey/generate-authenticate-options');
  const optionsJSON = { ...options, userVerification: 'required' as const };
  const response = await startAuthentication({ optionsJSON, useBrowserAutofill });
  await call('/auth/passkey/verify-authentication', { method: 'POST', body: { response } });
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
