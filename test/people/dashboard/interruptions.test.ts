import { until } from '@sotto/test-servers';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { ask } from '../../kit/client.ts';
import {
  createKey,
  describeDashboard,
  expectAccessible,
  heading,
  invite,
  keepPicture,
  overflowOf,
  signInBy,
  signUpBy,
} from './stage.ts';

await describeDashboard('interruptions', (stage) => {
  const endSessions = async (): Promise<void> => {
    await stage.service.pool.query('delete from auth_session');
  };
  /** Ends the sessions while this stands in a dialog of the page for keys, and lets the page find out. */
  const endOver = async (page: Page, typed: string) => {
    await page.getByRole('button', { name: 'Create key' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Create key' });
    await dialog.getByLabel('Name').fill(typed);
    await endSessions();
    // A query that is still under way may bring the question first. It then lies over the button, and takes the click.
    await dialog.getByRole('button', { name: 'Create key' }).click({ force: true });
    const question = page.getByRole('dialog', { name: 'Sign in again' });
    await question.waitFor();
    return { dialog, question };
  };

  it('an ended session asks to sign in over the page, and keeps what was typed', async () => {
    const person = await stage.person();
    const page = await stage.open('/keys', { as: person });
    const { dialog, question } = await endOver(page, 'typed before the end');
    await question.locator('input[name=password]:focus').waitFor();
    await keepPicture(page, 'sign-in-again');
    await expectAccessible(page);
    expect(await question.getByLabel('Email').inputValue()).toBe(person.email);
    await question.getByLabel('Password').fill('wrong password');
    await question.getByRole('button', { name: 'Sign in', exact: true }).click();
    await question.getByRole('alert').waitFor();
    await question.getByLabel('Password').fill(person.password);
    await question.getByRole('button', { name: 'Sign in', exact: true }).click();
    await question.waitFor({ state: 'hidden' });
    expect(await dialog.getByLabel('Name').inputValue()).toBe('typed before the end');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await page.getByTestId('new-key').waitFor();
  });

  it('the question takes no keys from a user who is typing, and only its button leaves the page', async () => {
    const person = await stage.person();
    const page = await stage.open('/keys', { as: person });
    await page.getByRole('button', { name: 'Create key' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Create key' });
    await dialog.getByLabel('Name').fill('half a name');
    await endSessions();
    // The user comes back to the tab much later, so the page reads the session again.
    await page.clock.setFixedTime(Date.now() + 3_600_000);
    await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
    const question = page.getByRole('dialog', { name: 'Sign in again' });
    await question.waitFor();
    await page.keyboard.type(' and the rest of it');
    for (const key of ['Space', 'Enter', 'Escape']) await page.keyboard.press(key);
    await page.mouse.click(5, 5);
    expect(await question.getByLabel('Password').inputValue()).toBe('');
    await question.getByLabel('Password').fill(person.password);
    await question.getByRole('button', { name: 'Sign in', exact: true }).click();
    await question.waitFor({ state: 'hidden' });
    expect(await dialog.locator(':focus').inputValue()).toBe('half a name');
  });

  it('the question keeps the page while the user sets a new password in another tab', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    const { question } = await endOver(page, 'typed before the end');
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      question.getByRole('link', { name: 'Forgot password?' }).click(),
    ]);
    await tab.getByRole('heading', heading('Set a new password')).waitFor();
    await question.waitFor();
    expect(new URL(page.url()).pathname).toBe('/keys');
  });

  it('the question ends once the user has signed in elsewhere, as at an OpenID provider, and keeps what was typed', async () => {
    const person = await stage.person();
    const page = await stage.open('/keys', { as: person });
    const { dialog, question } = await endOver(page, 'typed before the end');
    // The provider sends the browser back with a session, to a page that is loaded anew.
    await page.context().request.post('/v1/auth/sign-in/email', { data: person });
    await (await page.context().newPage()).goto('/');
    await question.waitFor({ state: 'hidden' });
    expect(await dialog.getByLabel('Name').inputValue()).toBe('typed before the end');
  });

  it('a deletion that needs a newer sign-in leads there and back, and is confirmed anew', async () => {
    const person = await stage.person();
    const { pool } = stage.service;
    const signsInBy = (provider: string) =>
      pool.query(
        'update auth_account set provider_id = $2 where user_id = (select id from auth_user where email = $1)',
        [person.email, provider],
      );
    const page = await stage.open('/account', { as: person });
    // An account without a password has only its session to prove who asks.
    await signsInBy('openid');
    await pool.query("update auth_session set created_at = now() - interval '6 minutes'");
    await page.reload();
    const dialog = page.getByRole('dialog', { name: 'Delete your account?' });
    const address = dialog.getByLabel('Your address');
    const open = () => page.getByRole('button', { name: 'Delete account…' }).click();
    await open();
    await address.fill(person.email);
    await dialog.getByRole('button', { name: 'Delete account' }).click();
    await dialog.getByRole('link', { name: 'Sign in again' }).click();
    await signsInBy('credential');
    await signInBy(page, person);
    await page.getByRole('heading', heading('Account and security')).waitFor();
    await open();
    expect(await address.inputValue()).toBe('');
    expect(await dialog.getByLabel('Your password').inputValue()).toBe('');
  });

  it('another user who signs in over the page gets none of what the first one saw or typed', async () => {
    const [first, second] = [await stage.person(), await stage.person()];
    const page = await stage.open('/keys', { as: first });
    await createKey(page, { name: 'of the first user' });
    await page.reload();
    await page.getByText('of the first user').waitFor();
    const { question } = await endOver(page, 'typed by the first user');
    await question.getByLabel('Email').fill(second.email);
    await question.getByLabel('Password').fill(second.password);
    await question.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('No keys in this workspace yet').waitFor();
    expect(await page.getByText('of the first user').count()).toBe(0);
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('button', { name: 'Create key' }).first().click();
    expect(await page.getByRole('dialog').getByLabel('Name').inputValue()).toBe('');
  });

  // The service refuses the first user's change because the session has ended. The refusal arrives after the tab has forgotten
  // this user, and the form of the second one asks for texts that are kept for its route.
  it('a refusal that arrives after another user has signed in brings back nothing that the first one typed', async () => {
    const second = await stage.person();
    const page = await stage.open('/keys', { as: await stage.person() });
    const { promise, resolve: refuse } = Promise.withResolvers<void>();
    const error = { message: 'The session has ended.', type: 'unauthenticated', request_id: 'req_1' };
    await page.route('**/v1/keys', async (route) => {
      await promise;
      await route.fulfill({ status: 401, json: { error } });
    });
    await page.getByRole('button', { name: 'Create key' }).first().click();
    const name = page.getByRole('dialog', { name: 'Create key' }).getByLabel('Name');
    await name.fill('typed by the first user');
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await page.context().request.post('/v1/auth/sign-in/email', { data: second });
    await (await page.context().newPage()).goto('/');
    await name.waitFor({ state: 'hidden' });
    refuse();
    const question = page.getByRole('dialog', { name: 'Sign in again' });
    await question.getByLabel('Password').fill(second.password);
    await question.getByRole('button', { name: 'Sign in', exact: true }).click();
    await question.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Create key' }).first().click();
    expect(await name.inputValue()).toBe('');
  });

  it('another user who signs in elsewhere does not see the key that the first one created here', async () => {
    const second = await stage.person();
    const page = await stage.open('/', { as: await stage.person() });
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByTestId('new-key').waitFor();
    await page.context().request.post('/v1/auth/sign-in/email', { data: second });
    await (await page.context().newPage()).goto('/');
    await page.getByTestId('new-key').waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Account', exact: true }).click();
    await page.getByText(second.email).waitFor();
  });

  it('a wrong password on the sign-in page is not taken for an ended session', async () => {
    const person = await stage.person();
    const page = await stage.open('/sign-in', { as: person });
    await page.getByRole('button', { name: 'Account', exact: true }).waitFor();
    await page.getByLabel('Email').fill(person.email);
    for (const password of ['wrong password', person.password]) {
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      if (password !== person.password) await page.getByRole('alert').waitFor();
    }
    await page.getByRole('heading', heading('First steps')).waitFor();
  });

  it('an ended session leads to the sign-in page if the user leaves', async () => {
    const page = await stage.open('/billing', { as: await stage.person() });
    await page.getByTestId('available').waitFor();
    await endSessions();
    const question = page.getByRole('dialog', { name: 'Sign in again' });
    // The page may have noticed by itself. Its question then covers the link.
    const press = page.getByRole('link', { name: 'Keys' }).click({ force: true });
    await Promise.race([press, question.waitFor()]);
    press.catch(() => {});
    await question.getByRole('button', { name: 'Leave this page' }).click();
    await page.waitForURL(/\/sign-in/);
  });

  it('signing out in one tab clears the other', async () => {
    const first = await stage.open('/billing', { as: await stage.person() });
    await first.getByTestId('available').waitFor();
    const second = await first.context().newPage();
    await second.goto('/keys');
    await second.getByRole('button', { name: 'Account', exact: true }).click();
    await second.getByRole('menuitem', { name: 'Sign out' }).click();
    await first.waitForURL(/\/sign-in/);
    await first.getByTestId('available').waitFor({ state: 'hidden' });
  });

  it('a page whose script does not arrive says so, keeps the menu, and comes with the next try', async () => {
    const page = await stage.open('/', { as: await stage.person() });
    await page.getByRole('heading', { level: 1 }).waitFor();
    let isAway = true;
    await page.route('**/assets/*.js', (route) => (isAway ? route.fulfill({ status: 502 }) : route.continue()));
    await page.getByRole('link', { name: 'Usage', exact: true }).click();
    await page.getByText('This page could not be loaded.').waitFor();
    await expectAccessible(page);
    isAway = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', heading('Usage')).waitFor();
  });

  it('scripts that an upgrade has removed lead to a new load of the page, and not to the loss of what was typed', async () => {
    const person = await stage.person();
    const page = await stage.open('/keys', { as: person });
    await page.getByRole('button', { name: 'Create key' }).first().waitFor();
    await page.route('**/assets/*.js', (route) => route.fulfill({ status: 404 }));
    const { dialog, question } = await endOver(page, 'typed before the upgrade');
    await question.getByLabel('Password').fill(person.password);
    await question.getByRole('button', { name: 'Sign in', exact: true }).click();
    await question.waitFor({ state: 'hidden' });
    expect(await dialog.getByLabel('Name').inputValue()).toBe('typed before the upgrade');

    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Usage', exact: true }).click();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Sotto may have a new version').waitFor();
    await expectAccessible(page);
    await page.unroute('**/assets/*.js');
    await page.getByRole('button', { name: 'Reload the page' }).click();
    await page.getByRole('heading', heading('Usage')).waitFor();
  });

  it('a service that is away is one error on the billing page, without a stale balance', async () => {
    const page = await stage.open('/billing', { as: await stage.person() });
    await page.getByTestId('available').waitFor();
    let isAway = true;
    await page.route('**/v1/{balance,billing}**', (route) =>
      isAway ? route.fulfill({ status: 503 }) : route.continue(),
    );
    await page.reload();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').count()).toBe(1);
    expect(
      await page
        .getByTestId('available')
        .isVisible()
        .catch(() => false),
    ).toBe(false);
    isAway = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByTestId('available').waitFor();
  });

  it('workspaces that do not load are an error with a next try on each page that shows one', async () => {
    const person = await stage.person();
    for (const path of ['/keys', '/usage', '/budgets', '/audit', '/routing', '/playground']) {
      const page = await stage.open('/status', { as: person });
      const json = { error: { message: 'Not now.', type: 'permission_denied', request_id: 'req_1' } };
      await page.route('**/v1/workspaces?*', (route) => route.fulfill({ status: 403, json }));
      await page.goto(path);
      await page.getByRole('main').getByRole('alert').getByText('Not now.').waitFor();
      await page.unroute('**/v1/workspaces?*');
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('button', { name: 'Workspace: Default Workspace' }).first().waitFor();
      await page.getByText('Not now.').waitFor({ state: 'hidden' });
      await page.context().close();
    }
  });

  it('a new account is signed in at once where no address must be confirmed', async () => {
    const page = await stage.open('/sign-up?return_to=%2Fkeys');
    await signUpBy(page, 'Ann', { email: 'at-once@people.example', password: 'a long password' });
    await page.getByRole('heading', heading('Keys')).waitFor();
  });

  it('an invited stranger learns who invites to which workspace', async () => {
    const owner = await stage.person();
    const page = await stage.open('/workspaces', { as: owner });
    const { data } = await (await page.request.get('/v1/workspaces')).json();
    const token = await invite(page, data[0].id, 'stranger@people.example', 'member');
    const stranger = await stage.open(`/invitations#token=${token}`);
    await stranger.getByRole('heading', heading('Create an account')).waitFor();
    await stranger.getByText(`${owner.email} invites you to`).waitFor();
    await stranger.getByText(data[0].name).waitFor();

    let isAway = true;
    await stranger.route('**/v1/invitations/preview', (route) =>
      isAway ? route.fulfill({ status: 429 }) : route.continue(),
    );
    await stranger.reload();
    await stranger.getByRole('alert').getByText('The service answered with status 429.').waitFor();
    isAway = false;
    await stranger.getByRole('button', { name: 'Try again' }).click();
    await stranger.getByText(`${owner.email} invites you to`).waitFor();
    await stage.service.pool.query('delete from workspace_invitations');
    await stranger.reload();
    await stranger.getByText('This invitation was used or withdrawn').waitFor();
  });

  it('an invited user who signs in in another tab still has the invitation in the first', async () => {
    const [owner, guest] = [await stage.person(), await stage.person()];
    // The list of invitations is closed to an address that is not confirmed; a link is not.
    await stage.service.pool.query('update auth_user set email_verified = false where email = $1', [guest.email]);
    const theirs = await stage.open('/workspaces', { as: owner });
    const { data } = await (await theirs.request.get('/v1/workspaces')).json();
    const token = await invite(theirs, data[0].id, guest.email, 'member');
    const page = await stage.open(`/invitations#token=${token}`);
    await page.getByRole('heading', heading('Create an account')).waitFor();
    const other = await page.context().newPage();
    await other.goto('/sign-in');
    await signInBy(other, guest);
    await page.getByRole('button', { name: 'Account', exact: true }).waitFor();
    await page.goto('/invitations');
    await page.getByRole('button', { name: `Accept the invitation to ${data[0].name}` }).waitFor();
  });

  it('a name of 100 letters widens no page, on a phone or a desk', async () => {
    const person = await stage.person();
    const long = 'W'.repeat(100);
    await stage.service.pool.query('update workspaces set name = $2 where account_id = $1', [person.accountId, long]);
    await stage.service.pool.query(
      `insert into auth_passkey (id, name, public_key, user_id, credential_id, counter, device_type, backed_up, created_at)
       select $2, $2, 'x', id, $2, 0, 'singleDevice', false, now() from auth_user where email = $1`,
      [person.email, long],
    );
    const key = await stage.open('/keys', { as: person });
    await key.getByRole('button', { name: 'Create key' }).first().click();
    await key.getByRole('dialog').getByLabel('Name').fill(long);
    await key.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    const secret = (await key.getByTestId('new-key').textContent()) ?? '';
    const { status } = await ask(stage.service, secret, { model: 'acme/small' });
    expect(status).toBe(200);
    const requests = key.context().request;
    await until(
      async () => (await (await requests.get('/v1/usage')).json()).data.length > 0,
      'the request is in the usage',
    );
    const wide: string[] = [];
    for (const width of [390, 1440]) {
      for (const path of [
        '/',
        '/keys',
        '/usage?by=key',
        '/usage?view=requests',
        '/workspaces',
        '/playground',
        '/routing',
        '/billing',
        '/account',
      ]) {
        const page = await stage.open(path, { as: person, width });
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.waitForLoadState('networkidle');
        await keepPicture(page, `long-name-${path.replace(/\W+/g, '-')}-${width}`);
        const overflow = await overflowOf(page);
        if (overflow > 0) wide.push(`${path} at ${width} px: ${overflow}`);
        await page.context().close();
      }
    }
    expect(wide).toEqual([]);
  });
});
