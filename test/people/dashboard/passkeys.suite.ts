import { expect, it } from 'vitest';
import type { Mailbox } from '../../kit/mailbox.ts';
import { password } from '../../kit/signed-up.ts';
import type { AccountsWorld } from '../accounts/world.ts';
import { addAuthenticator, expectAccessible, heading, signInBy, type useBrowser } from './stage.ts';

/** A service with its mailbox, which run within tests and hooks only, and a browser. */
interface Accounts {
  readonly world: () => AccountsWorld;
  readonly mailbox: () => Mailbox;
  readonly browser: ReturnType<typeof useBrowser>;
}

/** Passkeys of an account: to add, to sign in with, and those that a reset has left. */
export function passkeys({ world, mailbox, browser }: Accounts): void {
  it('adds a passkey, names it, signs in with it by button and in the address field, and removes it', async () => {
    const person = await world().verified();
    const page = await browser.open('/account', { as: person });
    await addAuthenticator(page);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Your password').fill('not it');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('The password is wrong').waitFor();
    await dialog.getByLabel('Your password').fill(person.password);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('table', { name: 'Passkeys' }).getByText('Chrome on Linux').waitFor();
    await page.getByRole('button', { name: 'Actions for Chrome on Linux' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('My laptop');
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('table', { name: 'Passkeys' }).getByText('My laptop').waitFor();
    await expectAccessible(page);

    // Chosen in the address field: the browser offers it there, and the authenticator agrees at once.
    await page.context().clearCookies();
    const verification = '**/auth/passkey/verify-authentication';
    const error = { message: 'This passkey is not known here.', type: 'unauthenticated' };
    await page.route(verification, (route) => route.fulfill({ status: 401, json: { error } }));
    await page.goto('/sign-in');
    await page.getByText(error.message).waitFor();
    await page.unroute(verification);
    await page.goto('/sign-in');
    await page.getByRole('heading', heading('First steps')).waitFor();

    // Chosen by the button, in a browser that does not offer passkeys in the field.
    await page.context().clearCookies();
    await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');
    await page.goto('/sign-in?return_to=%2Faccount');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', heading('Account and security')).waitFor();
    await page.getByRole('button', { name: 'Actions for My laptop' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('You have none yet.').waitFor();
  });

  it('asks to sign in again before a passkey if there is no password to confirm, and keeps the way back', async () => {
    const person = await world().verified();
    const page = await browser.open('/account', { as: person });
    await addAuthenticator(page);
    const ofPerson = 'user_id = (select id from auth_user where email = $1)';
    // Resembles an account that was created by the OpenID provider.
    const signsInBy = (provider: string) =>
      world().pool.query(`update auth_account set provider_id = $2 where ${ofPerson}`, [person.email, provider]);
    await signsInBy('openid');
    await world().pool.query(`update auth_session set created_at = now() - interval '6 minutes' where ${ofPerson}`, [
      person.email,
    ]);
    await page.reload();
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('link', { name: 'Sign in again' }).click();
    await signsInBy('credential');
    await signInBy(page, person);
    await page.getByRole('heading', heading('Account and security')).waitFor();
  });

  it.each(['I recognize it', 'Remove it'])('shows a passkey that a reset has left, until: %s', async (answer) => {
    const person = await world().verified();
    await world().pool.query(
      `insert into auth_passkey (id, name, public_key, user_id, credential_id, counter, device_type, backed_up, created_at)
       select $2, 'Old phone', 'x', id, $2, 0, 'singleDevice', false, now() from auth_user where email = $1`,
      [person.email, `passkey of ${person.email}`],
    );
    await world().visitor().post('/auth/request-password-reset', { email: person.email });
    const token = await mailbox().token(person.email, 'Set a new password');
    await world().visitor().post('/auth/reset-password', { token, newPassword: password });
    const page = await browser.open('/sign-in');
    await signInBy(page, person);
    await page.getByRole('heading', heading('First steps')).waitFor();
    await page.goto('/account');
    await page.getByText('One passkey from before can still sign in.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: answer }).click();
    await page.getByText('One passkey from before can still sign in.').waitFor({ state: 'hidden' });
    const left = page.getByRole('table', { name: 'Passkeys' }).getByText('Old phone');
    if (answer === 'Remove it') await page.getByText('You have none yet.').waitFor();
    else await left.waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Add a passkey' }).waitFor();
    expect(await page.getByText('from before can still sign in').count()).toBe(0);
  });
}
