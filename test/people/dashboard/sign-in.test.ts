import { randomUUID } from 'node:crypto';
import { smtpMail } from '@sotto/control';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { totpCode } from '../../kit/authenticator.ts';
import { type Mailbox, openMailbox } from '../../kit/mailbox.ts';
import { password } from '../../kit/signed-up.ts';
import { thoroughly } from '../../kit/thoroughly.ts';
import { openidAt } from '../accounts/openid-server.ts';
import { type AccountsWorld, openWorld } from '../accounts/world.ts';
import { passkeys } from './passkeys.suite.ts';
import {
  createWorkspace,
  expectAccessible,
  expectGoodLooks,
  hasBrowser,
  heading,
  holdBack,
  invite,
  keepPicture,
  signInBy,
  signUpBy,
  useBrowser,
} from './stage.ts';

const fresh = () => `${randomUUID().slice(0, 8)}@people.example`;

describe.skipIf(!hasBrowser())('signing in, and the credentials of an account', () => {
  let mailbox: Mailbox;
  let world: AccountsWorld;
  const browser = useBrowser(() => ({ control: world.origin, broker: world.origin }));
  beforeAll(async () => {
    mailbox = await openMailbox();
    world = await openWorld({
      // Browsers do not support passkeys for IP addresses.
      host: 'localhost',
      mailer: smtpMail({ url: mailbox.url, from: 'Sotto <no-reply@sotto.example>' }),
      // No server listens there.
      openid: openidAt(1),
    });
  });
  afterAll(async () => {
    await world?.stop();
    await mailbox?.stop();
  });

  /** The link of the newest mail, as a path of the page. */
  const mailedPath = async (to: string, subject: string): Promise<string> => {
    const { text } = await mailbox.newest(to, subject);
    const link = /https?:\/\/\S+#token=\S+/.exec(text)?.[0] ?? '';
    return link.slice(world.origin.length);
  };

  it('signs up, confirms the address by the link, and is in', async () => {
    const email = fresh();
    const page = await browser.open('/sign-up');
    await signUpBy(page, 'Ann', { email, password });
    await page.getByRole('heading', heading('Check your mail')).waitFor();

    await page.getByRole('link', { name: 'Sign in' }).last().click();
    await signInBy(page, { email, password });
    await page.getByText('Confirm your address. We sent a link').waitFor();
    await expectAccessible(page);

    await page.goto(await mailedPath(email, 'Confirm your address'));
    await page.getByRole('heading', heading('Confirm your address')).waitFor();
    expect(page.url()).not.toContain('token');
    await page.getByLabel('Password').fill('not the password');
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByText('The link is good, the password is not.').waitFor();
    await page.getByLabel('Password').fill(password);
    // The link is used now. Until the next page comes, this one does not say that it was used before.
    const reading = page.waitForRequest('**/v1/auth/get-session');
    const read = await holdBack(page, '**/v1/auth/get-session');
    await page.getByRole('button', { name: 'Confirm' }).click();
    await reading;
    expect(await page.getByText('Open this page with the link from the mail.').count()).toBe(0);
    read();
    await page.getByRole('heading', heading('Account and security')).waitFor();
    await page.getByText('Confirmed', { exact: true }).waitFor();
    await page.goto('/verify-email');
    await page.getByText('Open this page with the link from the mail.').waitFor();
  });

  it('asks a person who is signed in to another account for the password that belongs to the link', async () => {
    const [other, person] = [await world.verified(), await world.signUp()];
    const page = await browser.open('/account', { as: other });
    await page.goto(await mailedPath(person.email, 'Confirm your address'));
    await page.getByText(`You are signed in as ${other.email}.`).waitFor();
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByLabel('Password').fill(person.password);
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByRole('heading', heading('Account and security')).waitFor();
    await page.getByText(person.email).first().waitFor();
  });

  it('sets a forgotten password by mail, which ends the session of another browser', async () => {
    const person = await world.verified();
    const other = await browser.open('/account', { as: person });
    await other.getByRole('heading', heading('Account and security')).waitFor();
    const page = await browser.open('/sign-in');
    await page.getByRole('link', { name: 'Forgot password?' }).click();
    await page.getByRole('heading', heading('Set a new password')).waitFor();
    await page.getByLabel('Email').fill(person.email);
    await page.getByRole('button', { name: 'Send link' }).click();
    await page.getByRole('heading', heading('Check your mail')).waitFor();
    await page.goto(await mailedPath(person.email, 'Set a new password'));
    await page.getByLabel('New password').fill('staple battery horse');
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.getByRole('heading', heading('Your password is set')).waitFor();
    await page.getByRole('link', { name: 'Sign in' }).last().click();
    await signInBy(page, { email: person.email, password: 'staple battery horse' });
    await page.getByRole('heading', heading('First steps')).waitFor();
    await other.reload();
    await other.getByRole('heading', heading('Sign in')).waitFor();
  });

  it('keeps a typed address while the user signs in again, and then for one visit', async () => {
    const person = await world.verified();
    const page = await browser.open('/account', { as: person });
    // An account without a password has only its session to prove who asks.
    await world.pool.query(
      "update auth_account set provider_id = 'openid' where user_id = (select id from auth_user where email = $1)",
      [person.email],
    );
    await world.pool.query("update auth_session set created_at = now() - interval '6 minutes'");
    await page.reload();
    const address = page.getByLabel('New address');
    await address.fill('other@people.example');
    await page.getByRole('button', { name: 'Change address' }).click();
    await page.getByRole('alert').waitFor();
    for (const kept of ['other@people.example', '']) {
      await page.getByRole('link', { name: 'Keys', exact: true }).first().click();
      await page.getByRole('heading', heading('Keys')).waitFor();
      await page.goBack();
      expect(await address.inputValue()).toBe(kept);
    }
  });

  it('sets up an authenticator app, asks for its code, and takes a backup code instead', async () => {
    const person = await world.verified();
    const page = await browser.open('/account', { as: person });
    await page.getByRole('button', { name: 'Set up an app' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Your password').fill('not it');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Your password').fill(person.password);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByRole('img', { name: /QR code/ }).waitFor();
    await expectAccessible(page);
    await keepPicture(page, 'account-enrol');
    const secret = (await dialog.getByTestId('totp-secret').textContent()) ?? '';
    const uri = `otpauth://totp/x?secret=${secret}`;
    await dialog.getByLabel('Code from the app').fill('000000');
    await dialog.getByRole('button', { name: 'Switch on' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Code from the app').fill(totpCode(uri, Date.now()));
    // The service has switched it on when the answer is lost to a closed dialog, and with it the backup codes.
    const check = await holdBack(page, '**/two-factor/verify-totp');
    await dialog.getByRole('button', { name: 'Switch on' }).click();
    await dialog.locator('button[aria-busy=true]').waitFor();
    await page.keyboard.press('Escape');
    expect(await dialog.isVisible()).toBe(true);
    check();
    await dialog.getByTestId('backup-codes').waitFor();
    // The page behind knows it by now, and the dialog stays.
    await page.getByText('On', { exact: true }).waitFor();
    const codes = await dialog.getByTestId('backup-codes').locator('li').allTextContents();
    expect(codes).toHaveLength(10);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('link', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('sotto-backup-codes.txt');
    await dialog.getByRole('button', { name: 'I saved the codes' }).click();
    await page.getByRole('button', { name: 'Create new backup codes' }).waitFor();

    const elsewhere = await browser.open('/sign-in');
    await signInBy(elsewhere, person);
    await elsewhere.getByRole('heading', heading('One more step')).waitFor();
    await expectAccessible(elsewhere);
    await elsewhere.getByLabel('Code of your authenticator app').fill('000001');
    await elsewhere.getByRole('button', { name: 'Sign in', exact: true }).click();
    await elsewhere.getByRole('alert').waitFor();
    await elsewhere.getByRole('button', { name: 'Use a backup code instead' }).click();
    await elsewhere.getByLabel('Backup code').fill(codes[0] ?? '');
    await elsewhere.getByRole('button', { name: 'Sign in', exact: true }).click();
    await elsewhere.getByRole('heading', heading('First steps')).waitFor();

    await page.reload();
    await page.getByRole('button', { name: 'Turn off' }).click();
    await dialog.getByLabel('Your password').fill(person.password);
    await dialog.getByRole('button', { name: 'Turn off' }).click();
    await page.getByRole('button', { name: 'Set up an app' }).waitFor();
  });

  passkeys({ world: () => world, mailbox: () => mailbox, browser });

  it('changes name, address and password, and ends other sessions', async () => {
    const person = await world.verified();
    const other = await browser.open('/account', { as: person });
    const page = await browser.open('/account', { as: person });
    await page.getByLabel('Your name').fill('Ann Other');
    await page.getByRole('button', { name: 'Save name' }).click();
    await page.getByText('Your name is saved.').first().waitFor();

    const newEmail = fresh();
    await page.getByLabel('New address').fill(newEmail);
    await page.getByLabel('Your password').fill(person.password);
    await page.getByRole('button', { name: 'Change address' }).click();
    await page.getByText('We sent a link to').waitFor();
    await page.goto(await mailedPath(newEmail, 'Confirm your new address'));
    await page.getByText(`You are signed in as ${person.email}.`).waitFor();
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByRole('heading', heading('Account and security')).waitFor();
    await page.getByText(newEmail).first().waitFor();

    const sessions = page.getByRole('table', { name: 'Sessions' });
    await sessions
      .getByRole('button', { name: /^End the session of|^End/ })
      .first()
      .waitFor();
    expect(await sessions.locator('tbody tr').count()).toBe(2);
    await page.getByRole('button', { name: 'End all others' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'End them' }).click();
    await page.getByText('Your other sessions have ended.').first().waitFor();
    expect(await sessions.locator('tbody tr').count()).toBe(1);
    await other.reload();
    await other.getByRole('heading', heading('Sign in')).waitFor();

    await page.getByLabel('Current password').fill('not it');
    await page.getByLabel('New password').fill('staple battery horse');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByRole('alert').first().waitFor();
    await page.getByLabel('Current password').fill(person.password);
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('Password changed').first().waitFor();
  });

  it('deletes the account after its address and password, and says what is lost', async () => {
    const person = await world.verified();
    const page = await browser.open('/account', { as: person });
    await page.getByRole('button', { name: 'Delete account…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete your account?' });
    await dialog.getByText('Your keys, workspaces, apps').waitFor();
    await expectAccessible(page);
    await keepPicture(page, 'delete-account');
    const address = dialog.getByLabel('Your address');
    await address.fill('somebody@people.example');
    await dialog.getByLabel('Your password').fill(password);
    await dialog.getByRole('button', { name: 'Delete account' }).click();
    await dialog.getByRole('alert').getByText('This is not the address of your account.').waitFor();
    await address.fill(person.email);
    await dialog.getByRole('button', { name: 'Delete account' }).click();
    await page.waitForURL(/\/sign-in/);
    await page.getByLabel('Email').fill(person.email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').waitFor();
    const mail = await mailbox.newest(person.email, 'Your account was deleted');
    expect(mail.text).toContain('cannot be undone');
  });

  it('shows pending invitations, accepts one by its link after signing in, and declines others', async () => {
    const [owner, guest] = [await world.verified(), await world.verified()];
    const theirs = await browser.open('/workspaces', { as: owner });
    const inviteTo = async (name: string) => invite(theirs, await createWorkspace(theirs, name), guest.email, 'member');
    await inviteTo('By link');
    const path = await mailedPath(guest.email, 'invited');
    const page = await browser.open(path);
    await page.getByText(`${owner.email} invites you to By link`).waitFor();
    await page.getByRole('link', { name: 'Sign in' }).last().click();
    await page.getByRole('heading', heading('Sign in')).waitFor();
    expect(page.url()).not.toContain('token');
    await signInBy(page, guest);
    await page.getByRole('button', { name: 'Accept the invitation to By link' }).click();
    await page.getByRole('heading', heading('By link')).waitFor();

    await inviteTo('In the list');
    await page.goto('/workspaces');
    await page.getByText('You have an invitation.').waitFor();
    await page.getByRole('link', { name: 'Look at it' }).click();
    await page.getByRole('button', { name: 'Decline the invitation to In the list' }).click();
    await page.getByText('No invitations').waitFor();

    const token = await inviteTo('By another link');
    // The page is open already, so the browser loads nothing.
    await page.goto(`/invitations#token=${token}`);
    await page.getByRole('button', { name: 'Decline the invitation to By another link' }).click();
    await page.getByText('No invitations').waitFor();
  });

  it('offers the OpenID provider by its name, and explains its errors', async () => {
    const page = await browser.open('/sign-in?error=account_not_linked');
    await page.getByText('the address is not verified').waitFor();
    await page.goto('/sign-in?error=account_disabled');
    await page.getByText('This account is disabled.').waitFor();
    await page.getByRole('button', { name: 'Continue with Example Inc' }).click();
    await page.getByText('Example Inc cannot be reached now.').waitFor();
    await expectAccessible(page);
  });

  thoroughly('looks well before one is signed in', async () => {
    const shown = (name: string) => (page: Page) => page.getByRole('heading', heading(name)).waitFor();
    await expectGoodLooks(browser, { name: 'sign-in', path: '/sign-in', shown: shown('Sign in') });
    await expectGoodLooks(browser, { name: 'sign-up', path: '/sign-up', shown: shown('Create an account') });
    await expectGoodLooks(browser, { name: 'forgot', path: '/forgot-password', shown: shown('Set a new password') });
    await expectGoodLooks(browser, {
      name: 'reset',
      path: '/reset-password#token=x',
      shown: shown('Set a new password'),
    });
    await expectGoodLooks(browser, {
      name: 'verify',
      path: '/verify-email#token=x',
      shown: shown('Confirm your address'),
    });
  });

  thoroughly('looks well to whoever is', async () => {
    const [person, guest] = [await world.verified(), await world.verified()];
    await expectGoodLooks(browser, {
      name: 'account',
      path: '/account',
      as: person,
      shown: async (page) => {
        await page.getByText('You have none yet.').waitFor();
        await page.getByRole('table', { name: 'Sessions' }).waitFor();
        await page.getByLabel('Current password').waitFor();
      },
    });
    const owner = await browser.open('/workspaces', { as: await world.verified() });
    for (const [name, role] of [
      ['Research', 'member'],
      ['A workspace with quite a long name', 'viewer'],
    ] as const) {
      await invite(owner, await createWorkspace(owner, name), guest.email, role);
    }
    await expectGoodLooks(browser, {
      name: 'invitations',
      path: '/invitations',
      as: guest,
      shown: (page) => page.getByText('A workspace with quite a long name').first().waitFor(),
    });
    await expectGoodLooks(browser, {
      name: 'invitations-empty',
      path: '/invitations',
      as: person,
      shown: (page) => page.getByText('No invitations').waitFor(),
    });
  });
});
