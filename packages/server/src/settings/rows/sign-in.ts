import { z } from 'zod';
import { isSafeUrl } from '../kinds.ts';
import { controlAndStart } from '../row.ts';

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

/** Who may have an account, and how people sign in. */
export const signInRows = [
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
  controlAndStart('SIGN_UP', 'sign_up.policy', {
    kind: z.enum(['open', 'invited', 'closed'], { error: 'takes `open`, `invited` or `closed`' }),
    describe:
      'Who may create an account. Unset: `open` with `npm start` and where people had accounts before this setting existed, else `invited`.',
  }),
  controlAndStart('SIGN_UP_DOMAINS', 'sign_up.domains', {
    kind: mailDomains,
    describe: 'E-mail domains that may sign up. Default: all.',
  }),
];
