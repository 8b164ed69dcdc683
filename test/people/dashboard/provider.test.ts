import { beforeAll, describe, expect, it } from 'vitest';
import { freshAddress, useProvider } from '../accounts/by-provider.ts';
import type { Visitor } from '../accounts/world.ts';
import { expectAccessible, expectGoodLooks, hasBrowser, heading, useBrowser } from './stage.ts';

describe.skipIf(!hasBrowser())('signing in only with the OpenID provider', async () => {
  const groupRoles: { workspaceId: string; role: 'member'; group: string }[] = [];
  const { world, groups, provider, signInAs } = await useProvider({
    host: 'localhost',
    hasPasswords: false,
    groupRoles,
  });
  const browser = useBrowser(() => ({ control: world.origin, broker: world.origin }));
  let owner: Visitor;
  let workspaceId: string;
  beforeAll(async () => {
    ({ visitor: owner } = await signInAs(freshAddress()));
    workspaceId = (await owner.post('/workspaces', { name: 'Research' })).json.id;
    groupRoles.push({ workspaceId, role: 'member', group: 'Engineers' });
  });

  it('offers nothing else, hides what is off, and says which role a group gives', async () => {
    const email = freshAddress();
    groups.set(email, ['Engineers']);
    // The provider's page signs in the person of the last sign-in.
    await signInAs(email);
    const page = await browser.open('/sign-in', { leadsTo: provider.issuer });
    const enter = page.getByRole('button', { name: 'Continue with Example Inc' });
    await enter.waitFor();
    expect(await page.locator('input').count()).toBe(0);
    expect(await page.getByRole('button', { name: /passkey/ }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Sign up' }).count()).toBe(0);
    await expectAccessible(page);
    for (const [path, words] of [
      ['/sign-up', 'Your account is created when you sign in with Example Inc for the first time.'],
      ['/forgot-password', 'This deployment takes no passwords. Sign in with Example Inc.'],
      ['/reset-password#token=x', 'This deployment takes no passwords. Sign in with Example Inc.'],
      ['/sign-in?error=signed_out', 'The provider ended this sign-in. Try again.'],
    ] as const) {
      await page.goto(path);
      await page.getByText(words).waitFor();
      await expectAccessible(page);
    }

    await page.goto('/sign-in');
    await enter.click();
    await page.getByRole('heading', heading('First steps')).waitFor();
    await page.goto('/account');
    await page.getByText('You sign in with Example Inc. This deployment takes no passwords.').waitFor();
    await page.getByText('It does not sign in here.').waitFor();
    expect(await page.getByRole('heading', { name: /^(Password|Authenticator app)/ }).count()).toBe(0);
    await expectAccessible(page);

    await page.goto(`/workspaces/${workspaceId}`);
    await page
      .getByRole('row', { name: new RegExp(email) })
      .getByText('From a group')
      .waitFor();
    await expectAccessible(page);
  });

  it('looks good', async () => {
    const email = freshAddress();
    groups.set(email, ['Engineers']);
    const { visitor } = await signInAs(email);
    /** Opens a page in a browser that has the cookies of a visitor. */
    const openAs =
      (who: Visitor): typeof browser.open =>
      async (path, options) => {
        const page = await browser.open('/sign-in', options);
        const cookies = [...who.cookies].map(([name, value]) => ({ name, value, url: world.origin }));
        await page.context().addCookies(cookies);
        await page.goto(path);
        return page;
      };
    const widths = [390, 1440];
    await expectGoodLooks(browser, {
      ...{ name: 'sign-in-by-provider', path: '/sign-in', widths },
      shown: (page) => page.getByRole('button', { name: 'Continue with Example Inc' }).waitFor(),
    });
    const asMember = { open: openAs(visitor) };
    await expectGoodLooks(asMember, {
      ...{ name: 'account-by-provider', path: '/account', widths },
      shown: (page) => page.getByText('This deployment takes no passwords.').waitFor(),
    });
    const asOwner = { open: openAs(owner) };
    await expectGoodLooks(asOwner, {
      ...{ name: 'members-by-group', path: `/workspaces/${workspaceId}`, widths },
      shown: (page) => page.getByText('From a group').first().waitFor(),
    });
  });
});
