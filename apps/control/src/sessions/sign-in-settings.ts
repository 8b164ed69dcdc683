import { type Environment, readSettings, type Settings, signInSchema } from '@sotto/server';
import type { SmtpSettings } from '../mail/smtp-mail.ts';
import type { OpenidSettings } from './openid-provider.ts';
import type { SignUpMode, SignUpSettings } from './sign-up-policy.ts';

/** The settings of sign-in besides the database. Undefined: mail or OpenID is not configured. */
export interface SignInSettings {
  readonly signUp: SignUpSettings;
  readonly smtp: SmtpSettings | undefined;
  readonly openid: OpenidSettings | undefined;
}

/**
 * Reads the settings of mail and of the OpenID provider. If one is half configured, the error names the missing
 * variable. `signUp` is the default of `SIGN_UP`.
 */
export function readSignInSettings(
  environment: Environment,
  { signUp }: { readonly signUp?: SignUpMode } = {},
): Settings<SignInSettings> {
  const read = readSettings(signInSchema, environment);
  if (!read.ok) return read;
  const env = read.settings;
  const missing =
    missingOf('mail', env, ['SMTP_URL', 'MAIL_FROM']) ??
    missingOf('OpenID', env, ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_NAME']);
  if (missing !== undefined) return { ok: false, message: missing };
  const { SMTP_URL: url, MAIL_FROM: from, OIDC_ISSUER: issuer, OIDC_NAME: name } = env;
  const { OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = env;
  return {
    ok: true,
    settings: {
      signUp: { mode: env.SIGN_UP ?? signUp, domains: env.SIGN_UP_DOMAINS ?? [] },
      smtp: url && from ? { url, from } : undefined,
      openid: issuer && clientId && clientSecret && name ? { issuer, clientId, clientSecret, name } : undefined,
    },
  };
}

function missingOf(
  what: string,
  env: Readonly<Record<string, unknown>>,
  needed: readonly string[],
): string | undefined {
  const given = needed.find((name) => env[name] !== undefined);
  const missing = needed.find((name) => env[name] === undefined);
  if (given === undefined || missing === undefined) return undefined;
  return `${missing} is not set: ${what} needs it beside ${given}`;
}
