import type { MemberRole } from '@sotto/contract/control/workspaces';
import { type Environment, missingOf, readSettings, type Settings, signInSchema } from '@sotto/server';
import type { SmtpSettings } from '../mail/smtp-mail.ts';
import type { OpenidSettings } from './openid-provider.ts';
import type { SignUpSettings } from './sign-up-policy.ts';

/** A group of the OpenID provider gives its people a role in a workspace. */
export interface GroupRole {
  readonly workspaceId: string;
  readonly role: MemberRole;
  /** As the ID token or SCIM spells it. */
  readonly group: string;
}

/** The settings of sign-in besides the database. Undefined: mail, OpenID or SCIM is not configured. */
export interface SignInSettings {
  /** False: people sign in only with the OpenID provider. */
  readonly hasPasswords: boolean;
  readonly signUp: SignUpSettings;
  readonly smtp: SmtpSettings | undefined;
  readonly openid: OpenidSettings | undefined;
  /** Which groups of the provider give a role in which workspace. */
  readonly groupRoles: readonly GroupRole[];
  readonly scimToken: string | undefined;
}

/** Reads the settings of mail and of the OpenID provider. If one is half configured, the error names the missing variable. */
export function readSignInSettings(environment: Environment): Settings<SignInSettings> {
  const read = readSettings(signInSchema, environment);
  if (!read.ok) return read;
  const env = read.settings;
  const missing =
    missingOf('mail', env, ['SMTP_URL', 'MAIL_FROM']) ??
    missingOf('OpenID', env, ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_NAME']);
  if (missing !== undefined) return { ok: false, message: missing };
  const alone = needOpenid.find((name) => env[name] !== undefined && env[name] !== 'on');
  if (alone !== undefined && env.OIDC_ISSUER === undefined)
    return { ok: false, message: `OIDC_ISSUER is not set: ${alone} is of use only with an OpenID provider` };
  const { SMTP_URL: url, MAIL_FROM: from, OIDC_ISSUER: issuer, OIDC_NAME: name } = env;
  const { OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = env;
  return {
    ok: true,
    settings: {
      hasPasswords: env.SIGN_IN_PASSWORD !== 'off',
      signUp: { mode: env.SIGN_UP, domains: env.SIGN_UP_DOMAINS ?? [] },
      smtp: url && from ? { url, from } : undefined,
      openid:
        issuer && clientId && clientSecret && name
          ? {
              ...{ issuer, clientId, clientSecret, name },
              scopes: env.OIDC_SCOPES ?? [],
              groupsClaim: env.OIDC_GROUPS_CLAIM ?? 'groups',
            }
          : undefined,
      groupRoles: env.OIDC_ROLES ?? [],
      scimToken: env.SCIM_TOKEN,
    },
  };
}

/** Settings that mean nothing without an OpenID provider. Without it, `SIGN_IN_PASSWORD=off` would lock everyone out. */
const needOpenid = ['SIGN_IN_PASSWORD', 'OIDC_SCOPES', 'OIDC_GROUPS_CLAIM', 'OIDC_ROLES', 'SCIM_TOKEN'] as const;
