import { describe, expect, it } from 'vitest';
import { readSignInSettings } from './sign-in-settings.ts';

const smtp = { SMTP_URL: 'smtp://user:hunter2@mail.example:587', MAIL_FROM: 'Sotto <mail@sotto.example>' };
const openid = {
  OIDC_ISSUER: 'https://id.example/realm',
  OIDC_CLIENT_ID: 'sotto',
  OIDC_CLIENT_SECRET: 'hunter2',
  OIDC_NAME: 'Example Inc',
};
const alone = {
  ...{ hasPasswords: true, groupRoles: [], scimToken: undefined },
  signUp: { mode: 'invited', domains: [] },
};
const workspace = '7c0e4a52-3d0f-4a53-9d3e-2f1f0c7a9b11';

const messageOf = (environment: Record<string, string>): string => {
  const read = readSignInSettings(environment);
  return read.ok ? '' : read.message;
};

describe('readSignInSettings', () => {
  it('reads mail and OpenID together, each alone, or neither', () => {
    expect(readSignInSettings({})).toEqual({
      ok: true,
      settings: { ...alone, smtp: undefined, openid: undefined },
    });
    expect(readSignInSettings({ ...smtp, ...openid })).toEqual({
      ok: true,
      settings: {
        ...alone,
        smtp: { url: smtp.SMTP_URL, from: smtp.MAIL_FROM },
        openid: {
          ...{ issuer: openid.OIDC_ISSUER, clientId: 'sotto', clientSecret: 'hunter2', name: 'Example Inc' },
          ...{ scopes: [], groupsClaim: 'groups' },
        },
      },
    });
    expect(messageOf({ ...smtp, SMTP_URL: 'smtps://mail.example', MAIL_FROM: 'mail@sotto.example' })).toBe('');
    expect(messageOf({ ...openid, OIDC_ISSUER: 'http://127.0.0.1:8080' })).toBe('');
  });

  it('reads whether passwords are on, the roles of groups, and the token of SCIM', () => {
    const read = readSignInSettings({
      ...{ ...openid, SIGN_IN_PASSWORD: 'off', OIDC_SCOPES: 'groups, roles', OIDC_GROUPS_CLAIM: 'roles' },
      ...{ SCIM_TOKEN: 'x'.repeat(32) },
      // Names of groups may contain spaces and commas.
      OIDC_ROLES: `${workspace} member Engineers,${workspace.toUpperCase()} Admin CN=Leads,OU=All, DC=example`,
    });
    expect(read).toMatchObject({
      settings: {
        ...{ hasPasswords: false, scimToken: 'x'.repeat(32) },
        openid: { scopes: ['groups', 'roles'], groupsClaim: 'roles' },
        groupRoles: [
          { workspaceId: workspace, role: 'member', group: 'Engineers' },
          { workspaceId: workspace, role: 'admin', group: 'CN=Leads,OU=All, DC=example' },
        ],
      },
    });
  });

  it.each([
    ['SIGN_IN_PASSWORD', 'off'],
    ['OIDC_ROLES', `${workspace} member Engineers`],
    ['SCIM_TOKEN', 'x'.repeat(32)],
  ])('refuses %s without an OpenID provider, because nobody could sign in or be found', (name, value) => {
    expect(messageOf({ [name]: value })).toBe(`OIDC_ISSUER is not set: ${name} is of use only with an OpenID provider`);
    expect(messageOf({ ...openid, [name]: value })).toBe('');
  });

  it('reads who may sign up', () => {
    const read = readSignInSettings({ SIGN_UP: 'closed', SIGN_UP_DOMAINS: 'Example.com, b.example' });
    expect(read).toMatchObject({ settings: { signUp: { mode: 'closed', domains: ['example.com', 'b.example'] } } });
  });

  it.each([...Object.keys(smtp), ...Object.keys(openid)])('refuses settings of which only %s is missing', (name) => {
    const all: Record<string, string> = name in smtp ? smtp : openid;
    expect(messageOf({ ...all, [name]: '' })).toMatch(new RegExp(`^${name} is not set: `));
  });

  it.each([
    ['SMTP_URL', 'mail.example:587'],
    ['SMTP_URL', 'https://mail.example'],
    ['SMTP_URL', 'smtp://user:hunter2@mail.example/path?pool=1'],
    ['MAIL_FROM', 'nobody'],
    ['MAIL_FROM', 'a@b.example, c@d.example'],
    ['MAIL_FROM', 'x\r\nBcc: c@d.example <a@b.example>'],
    ['OIDC_ISSUER', 'http://id.example'],
    ['OIDC_ISSUER', 'https://user:hunter2@id.example'],
    ['OIDC_ISSUER', 'https://id.example?x=1'],
    ['OIDC_NAME', 'x'.repeat(41)],
    ['SIGN_IN_PASSWORD', 'never'],
    ['OIDC_SCOPES', 'a b'],
    ['OIDC_ROLES', 'Engineers'],
    ['OIDC_ROLES', `${workspace} owner Engineers`],
    ['OIDC_ROLES', `${workspace} member `],
    ['OIDC_ROLES', `${workspace} member Engineers,`],
    ['SCIM_TOKEN', 'too short'],
    ['SIGN_UP', 'everyone'],
    ['SIGN_UP_DOMAINS', 'example.com,'],
    ['SIGN_UP_DOMAINS', 'ann@example.com'],
  ])('refuses %s=%j in one line, which names the accepted form and repeats no password', (name, value) => {
    const message = messageOf({ ...smtp, ...openid, [name]: value });
    expect(message.startsWith(`${name} `)).toBe(true);
    expect(message).toMatch(/: it takes /);
    if (name === 'SMTP_URL') expect(message).not.toContain('hunter2');
  });
});
