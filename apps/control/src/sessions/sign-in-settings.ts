import { type Environment, readSettings, type Settings, setting } from '@sotto/settings';
import { z } from 'zod';
import type { SmtpSettings } from '../mail/smtp-mail.ts';
import type { OpenidSettings } from './openid-provider.ts';

const smtpError = 'takes a URL such as smtp://user:password@host:587 or smtps://user:password@host:465';
const senderError = 'takes an address such as mail@example.com, or `Name <mail@example.com>`';
const issuerError = 'takes the https URL of an OpenID provider, as its discovery document names it; http on loopback';

const environmentSchema = z.object({
  SMTP_URL: z
    .string()
    .refine((text) => /^smtps?:\/\/[^/?#]+\/?$/.test(text) && URL.canParse(text), { error: smtpError })
    .optional(),
  MAIL_FROM: z
    .string()
    .refine((text) => z.email().safeParse(/^[^<>"\r\n]*<([^<>]+)>$/.exec(text)?.[1] ?? text).success, {
      error: senderError,
    })
    .optional(),
  OIDC_ISSUER: z.string().refine(isIssuer, { error: issuerError }).optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  OIDC_NAME: z.string().max(40, { error: 'takes at most 40 characters' }).optional(),
});

/** The variables that signing in reads, for whoever passes an environment on. */
export const signInVariables: readonly string[] = Object.keys(environmentSchema.shape);

/** What signing in needs beside the database; undefined: there is no such thing. */
export interface SignInSettings {
  readonly smtp: SmtpSettings | undefined;
  readonly openid: OpenidSettings | undefined;
}

/** Reads how mail is sent and who else vouches for people; what is half configured is refused by name. */
export function readSignInSettings(environment: Environment): Settings<SignInSettings> {
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
      smtp: url && from ? { url, from } : undefined,
      openid: issuer && clientId && clientSecret && name ? { issuer, clientId, clientSecret, name } : undefined,
    },
  };
}

function missingOf(what: string, env: Environment, needed: readonly string[]): string | undefined {
  const given = needed.find((name) => env[name] !== undefined);
  const missing = needed.find((name) => env[name] === undefined);
  if (given === undefined || missing === undefined) return undefined;
  return `${missing} is not set: ${what} needs it beside ${given}`;
}

function isIssuer(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.search !== '' || url.hash !== '') return false;
  const isLocal = setting.isLoopback(url.hostname.replace(/^\[|\]$/g, ''));
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLocal);
}
