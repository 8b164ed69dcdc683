import { anywhere } from '../errors.ts';
import { json, type RouteDescription } from '../route.ts';
import { authGet, authPost, done, ofAuth } from './session-route.ts';

const ann = 'ann@example.com';
const code = { content: [json('SecondFactorCode', { code: '123456' })] };
const password = { content: [json('PasswordOnly', { password: 'correct horse battery' })] };
const emailOnly = { content: [json('EmailOnly', { email: ann })] };
const credential = { id: 'AAAA', rawId: 'AAAA', type: 'public-key', response: {} };
const guarded = [...ofAuth, 'unauthenticated'] as const;

/** What is done by mail: addresses and passwords that were forgotten. */
const mailRoutes: readonly RouteDescription[] = [
  authPost('send-verification-email', {
    operationId: 'sendVerificationEmail',
    summary: 'Mail a link to verify the address',
    description: 'The answer is the same for every address. At most five links to one address are good at a time.',
    credentials: [],
    body: emailOnly,
    answers: done,
    errors: ofAuth,
  }),
  authPost('verify-email', {
    operationId: 'verifyEmail',
    summary: 'Verify an address',
    description:
      'With the token behind `#` of the link, which is good once, for an hour. Whoever is not signed in shows the password beside it, and is signed in. For the address at the sign-up, and for a new one.',
    credentials: [],
    body: { content: [json('VerifyEmail', { token: 'as the link has it', password: 'correct horse battery' })] },
    answers: [{ status: 200, description: 'Verified.', content: [json('EmailVerified')] }],
    errors: guarded,
  }),
  authPost('change-email', {
    operationId: 'changeEmail',
    summary: 'Change the address',
    description: 'A link is mailed to the new one, which counts once it is verified; the old one is told then.',
    body: { content: [json('ChangeEmail', { newEmail: 'ann@new.example', password: 'correct horse battery' })] },
    answers: done,
    errors: [...guarded, 'session_not_fresh'],
  }),
  authPost('request-password-reset', {
    operationId: 'requestPasswordReset',
    summary: 'Mail a link to set a new password',
    description: 'The answer is the same for every address.',
    credentials: [],
    body: emailOnly,
    answers: [
      { status: 200, description: 'Where there is an account, a mail is sent.', content: [json('ResetRequested')] },
    ],
    errors: ofAuth,
  }),
  authPost('reset-password', {
    operationId: 'resetPassword',
    summary: 'Set a new password',
    description:
      'With the token behind `#` of the link, which is good once, for an hour. Ends all sessions. Where the address was not verified before, it is then, and keys and members that the account has are gone.',
    credentials: [],
    body: { content: [json('ResetPassword', { token: 'as the link has it', newPassword: 'staple battery horse' })] },
    answers: done,
    errors: ofAuth,
  }),
];

const secondFactorRoutes: readonly RouteDescription[] = [
  authPost('two-factor/enable', {
    operationId: 'enableSecondFactor',
    summary: 'Enrol an authenticator app',
    description:
      'It counts once `POST /v1/auth/two-factor/verify-totp` has had a first code. Backup codes are shown here alone.',
    body: password,
    answers: [{ status: 200, description: 'For the app to scan.', content: [json('TotpEnrolment')] }],
    errors: [...guarded, 'email_not_verified'],
  }),
  authPost('two-factor/verify-totp', {
    operationId: 'verifyTotp',
    summary: 'Show a code of the authenticator app',
    description:
      'The second step of a sign-in, by the cookie of the first, or the first code of an app. A code is good once; five wrong ones end the sign-in, ten in a row lock the second factor for a quarter of an hour.',
    credentials: [],
    body: code,
    answers: [{ status: 200, description: 'Signed in.', content: [json('SecondFactorPassed')] }],
    errors: guarded,
  }),
  authPost('two-factor/verify-backup-code', {
    operationId: 'verifyBackupCode',
    summary: 'Show a backup code instead',
    credentials: [],
    body: { content: [json('SecondFactorCode', { code: 'abcde-fghij' })] },
    answers: [{ status: 200, description: 'Signed in; the code is used up.', content: [json('SecondFactorPassed')] }],
    errors: [...guarded, 'conflict'],
  }),
  authPost('two-factor/generate-backup-codes', {
    operationId: 'generateBackupCodes',
    summary: 'New backup codes',
    body: password,
    answers: [{ status: 200, description: 'The codes before are void.', content: [json('BackupCodes')] }],
    errors: guarded,
  }),
  authPost('two-factor/disable', {
    operationId: 'disableSecondFactor',
    summary: 'Ask for no second factor any more',
    body: password,
    answers: done,
    errors: guarded,
  }),
];

const passkeyRoutes: readonly RouteDescription[] = [
  authGet('passkey/generate-register-options', {
    operationId: 'beginPasskeyRegistration',
    summary: 'Begin to add a passkey',
    description: 'For a session of the last hour. The cookie that it sets belongs to the next step.',
    answers: [
      {
        status: 200,
        description: 'For `navigator.credentials.create`, by `parseCreationOptionsFromJSON`.',
        content: [json('WebauthnOptions')],
      },
    ],
    errors: [...guarded, 'email_not_verified', 'session_not_fresh'],
  }),
  authPost('passkey/verify-registration', {
    operationId: 'registerPasskey',
    summary: 'Add a passkey',
    body: { content: [json('RegisterPasskey', { name: 'Laptop', response: credential })] },
    answers: [{ status: 200, description: 'The passkey.', content: [json('Passkey')] }],
    errors: [...guarded, 'email_not_verified', 'session_not_fresh'],
  }),
  authGet('passkey/generate-authenticate-options', {
    operationId: 'beginPasskeySignIn',
    summary: 'Begin to sign in with a passkey',
    credentials: [],
    answers: [
      {
        status: 200,
        description: 'For `navigator.credentials.get`, by `parseRequestOptionsFromJSON`.',
        content: [json('WebauthnOptions')],
      },
    ],
    errors: ofAuth,
  }),
  authPost('passkey/verify-authentication', {
    operationId: 'signInWithPasskey',
    summary: 'Sign in with a passkey',
    description: 'Its owner has to have been there, by fingerprint or PIN; no further factor is asked for.',
    credentials: [],
    body: { content: [json('PasskeySignIn', { response: credential })] },
    answers: [{ status: 200, description: 'Signed in.', content: [json('PasskeySignedIn')] }],
    errors: guarded,
  }),
  authGet('passkey/list-user-passkeys', {
    operationId: 'listPasskeys',
    summary: 'Own passkeys',
    answers: [{ status: 200, description: 'The passkeys.', content: [json('PasskeyList')] }],
    errors: [...anywhere, 'unauthenticated'],
  }),
  authPost('passkey/update-passkey', {
    operationId: 'renamePasskey',
    summary: 'Rename a passkey',
    body: { content: [json('RenamePasskey', { id: 'as the list has it', name: 'Phone' })] },
    answers: [{ status: 200, description: 'Renamed.', content: [json('PasskeyUpdated')] }],
    errors: [...guarded, 'not_found'],
  }),
  authPost('passkey/delete-passkey', {
    operationId: 'deletePasskey',
    summary: 'Remove a passkey',
    body: { content: [json('PasskeyId', { id: 'as the list has it' })] },
    answers: done,
    errors: [...guarded, 'not_found'],
  }),
];

/** Every way to sign in beside a password, what is done by mail, and what shows which of it there is. */
export const signInRoutes: readonly RouteDescription[] = [
  authGet('methods', {
    operationId: 'listSignInMethods',
    summary: 'How to sign in here',
    credentials: [],
    answers: [{ status: 200, description: 'What this deployment offers.', content: [json('AuthMethods')] }],
    errors: anywhere,
  }),
  ...mailRoutes,
  ...secondFactorRoutes,
  ...passkeyRoutes,
  authPost('sign-in/social', {
    operationId: 'signInWithOpenid',
    summary: "Sign in with the operator's OpenID provider",
    credentials: [],
    body: { content: [json('OpenidSignIn', { provider: 'openid', callbackURL: '/' })] },
    answers: [{ status: 200, description: 'Where the browser goes next.', content: [json('OpenidRedirect')] }],
    errors: [...ofAuth, 'not_found'],
  }),
  authGet('callback/{id}', {
    operationId: 'finishOpenidSignIn',
    summary: 'Where the OpenID provider sends browsers back to',
    description: 'Redirects to `callbackURL`, or with `?error=` to `errorCallbackURL`.',
    credentials: [],
    pathParameters: { id: '`openid`.' },
    answers: [{ status: 302, description: 'To where the sign-in began.', headers: ['location'] }],
    errors: [...anywhere, 'not_found'],
  }),
  authGet('list-accounts', {
    operationId: 'listSignInWays',
    summary: 'Whether one has a password, or comes from the OpenID provider',
    answers: [{ status: 200, description: 'The ways.', content: [json('SignInWays')] }],
    errors: [...anywhere, 'unauthenticated'],
  }),
  authPost('update-user', {
    operationId: 'updateUser',
    summary: 'Change the own name',
    body: { content: [json('UpdateUser', { name: 'Ann Other' })] },
    answers: done,
    errors: guarded,
  }),
];
