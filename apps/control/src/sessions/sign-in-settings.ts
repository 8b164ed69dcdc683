import { type Environment, readSettings, type Settings } from '@sotto/server';
import { z } from 'zod';
import type { SmtpSettings } from '../mail/smtp-mail.ts';
import { isSafeUrl } from '../safe-url.ts';
import type { OpenidSettings } from './openid-provider.ts';
import { type SignUpMode, type SignUpSettings, signUpModes } from './sign-up-policy.ts';

const smtpError = 'takes a URL such as smtp://user:password@host:587 or smtps://user:password@host:465';
const senderError = 'takes an address such as mail@example.com, or `Name <mail@example.com>`';
const issuerError = 'takes the https URL of an OpenID provider, as its discovery document names it; http on loopback';

const domainsError = 'takes a comma list of e-mail domains such as example.com,example.org';

export const environmentSchema = z.object({
  SMTP_URL: z
    .string()
    .refine((text) => /^smtps?:\/\/[^/?#]+\/?$/.test(text) && URL.canParse(text), { error: smtpError })
    .optional()
    .describe('Mail server. With `MAIL_FROM`, control sends mail and password sign-in needs a verified address.'),
  MAIL_FROM: z
    .string()
    .refine((text) => z.email().safeParse(/^[^<>"\r\n]*<([^<>]+)>$/.exec(text)?.[1] ?? text).success, {
      error: senderError,
    })
    .optional()
    .describe('Sender of that mail.'),
  OIDC_ISSUER: z
    .string()
    .refine(isSafeUrl, { error: issuerError })
    .optional()
    .describe('Enables sign-in with your OpenID provider, together with the three settings below.'),
  OIDC_CLIENT_ID: z.string().optional().describe('Client that you registered at the provider.'),
  OIDC_CLIENT_SECRET: z.string().optional().describe('Secret of that client.'),
  OIDC_NAME: z
    .string()
    .max(40, { error: 'takes at most 40 characters' })
    .optional()
    .describe('Name of the provider on the sign-in page.'),
  SIGN_UP: z
    .enum(signUpModes, { error: 'takes `open`, `invited` or `closed`' })
    .optional()
    .describe(
      'Who may create an account. Unset: `open` with `npm start` and where people had accounts before this setting existed, else `invited`.',
    ),
  SIGN_UP_DOMAINS: z
    .string()
    .transform((text) =>
      text
        .toLowerCase()
        .split(',')
        .map((domain) => domain.trim()),
    )
    .refine((domains) => domains.every((domain) => /^[a-z\d-]+(\.[a-z\d-]+)+$/.test(domain)), { error: domainsError })
    .optional()
    .describe('E-mail domains that may sign up. Default: all.'),
});

/** Names of the variables that sign-in reads, for code that passes an environment on. */
export const signInVariables: readonly string[] = Object.keys(environmentSchema.shape);

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
  const read = readSettings(environmentSchema, environment);
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
