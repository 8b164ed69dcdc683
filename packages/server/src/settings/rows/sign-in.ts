import * as z from 'zod';
import { isSafeUrl } from '../kinds.ts';
import { control, controlAndStart } from '../row.ts';

const smtpError = 'takes a URL such as smtp://user:password@host:587 or smtps://user:password@host:465';
const smtpUrl = z
  .string()
  .refine((text) => /^smtps?:\/\/[^/?#]+\/?$/.test(text) && URL.canParse(text), { error: smtpError });

const senderError = 'takes an address such as mail@example.com, or `Name <mail@example.com>`';
const sender = z
  .string()
  .refine((text) => z.email().safeParse(/^[^<>"\r\n]*<([^<>]+)>$/.exec(text)?.[1] ?? text).success, {
    error: senderError,
  });

const issuerError = 'takes the https URL of an OpenID provider, as its discovery document names it; http on loopback';
const issuerUrl = z.string().refine(isSafeUrl, { error: issuerError });

const domainsError = 'takes a comma list of e-mail domains such as example.com,example.org';
const mailDomains = z
  .string()
  .transform((text) =>
    text
      .toLowerCase()
      .split(',')
      .map((domain) => domain.trim()),
  )
  .refine((domains) => domains.every((domain) => /^[a-z\d-]+(\.[a-z\d-]+)+$/.test(domain)), { error: domainsError });

const onOff = z.enum(['on', 'off'], { error: 'takes `on` or `off`' });

const scopesError = 'takes a comma list of OAuth scopes such as groups';
const scopes = z
  .string()
  .transform((text) => text.split(',').map((scope) => scope.trim()))
  .refine((all) => all.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)), { error: scopesError });

const rolesError =
  'takes a comma list of `WORKSPACE_ID ROLE GROUP` such as `7c0e4a52-3d0f-4a53-9d3e-2f1f0c7a9b11 member Engineering`';
const workspaceId = '[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}';
const roleEntry = new RegExp(`^(${workspaceId})\\s+(viewer|member|admin)\\s+([^,\\s](?:.*[^,\\s])?)$`, 'i');
/** A name of a group may contain commas, as one of LDAP does. So an entry ends only where the next one begins. */
const betweenEntries = new RegExp(`,(?=\\s*${workspaceId}\\s)`, 'i');
const groupRoles = z.string().transform((text, context) => {
  const entries = text.split(betweenEntries).map((entry) => roleEntry.exec(entry.trim()));
  const read = entries.flatMap((entry) => {
    const [, workspace, role, group] = entry ?? [];
    if (workspace === undefined || role === undefined || group === undefined) return [];
    return [
      {
        workspaceId: workspace.toLowerCase(),
        role: role.toLowerCase() as 'viewer' | 'member' | 'admin',
        group: group.trim(),
      },
    ];
  });
  if (read.length === entries.length) return read;
  context.addIssue({ code: 'custom', message: rolesError });
  return z.NEVER;
});

const scimTokenError = 'takes at least 32 characters without spaces';

/** Who may have an account, and how people sign in. */
export const signInRows = [
  controlAndStart('SIGN_IN_PASSWORD', 'sign_in.password', {
    kind: onOff,
    describe:
      'With `off`, people sign in only with your OpenID provider: no passwords, and passkeys only confirm what an operator does. Default: `on`.',
  }),
  controlAndStart('SMTP_URL', 'mail.smtp_url', {
    kind: smtpUrl,
    describe: 'Mail server. With `MAIL_FROM`, control sends mail and password sign-in needs a verified address.',
  }),
  controlAndStart('MAIL_FROM', 'mail.from', { kind: sender, describe: 'Sender of that mail.' }),
  controlAndStart('OIDC_ISSUER', 'sign_in.openid.issuer', {
    kind: issuerUrl,
    describe: 'Enables sign-in with your OpenID provider, together with the three settings below.',
  }),
  controlAndStart('OIDC_CLIENT_ID', 'sign_in.openid.client_id', {
    kind: z.string(),
    describe: 'Client that you registered at the provider.',
  }),
  controlAndStart('OIDC_CLIENT_SECRET', 'sign_in.openid.client_secret', {
    kind: z.string(),
    describe: 'Secret of that client.',
  }),
  controlAndStart('OIDC_NAME', 'sign_in.openid.name', {
    kind: z.string().max(40, { error: 'takes at most 40 characters' }),
    describe: 'Name of the provider on the sign-in page.',
  }),
  controlAndStart('OIDC_SCOPES', 'sign_in.openid.scopes', {
    kind: scopes,
    describe: 'Scopes to ask for beside `openid`, `email` and `profile`, if your provider needs one for groups.',
  }),
  controlAndStart('OIDC_GROUPS_CLAIM', 'sign_in.openid.groups_claim', {
    kind: z.string().max(200, { error: 'takes at most 200 characters' }),
    describe: "Claim of the provider's ID tokens that lists the groups of a person. Default: `groups`.",
  }),
  controlAndStart('OIDC_ROLES', 'sign_in.openid.roles', {
    kind: groupRoles,
    describe:
      'Roles that groups of the provider give in workspaces: `WORKSPACE_ID ROLE GROUP`, where the role is `viewer`, `member` or `admin`.',
  }),
  controlAndStart('SCIM_TOKEN', 'sign_in.scim.token', {
    kind: z.string().regex(/^\S{32,}$/, { error: scimTokenError }),
    describe: 'Enables SCIM 2.0 at `/v1/scim/v2` for your provider, which shows this bearer token.',
  }),
  control('SIGN_UP', 'sign_up.policy', {
    kind: z.enum(['open', 'invited', 'closed'], { error: 'takes `open`, `invited` or `closed`' }),
    default: 'invited',
    describe: 'Who may create an account.',
    start: { default: 'open' },
  }),
  controlAndStart('SIGN_UP_DOMAINS', 'sign_up.domains', {
    kind: mailDomains,
    describe: 'E-mail domains that may sign up. Default: all.',
  }),
];
