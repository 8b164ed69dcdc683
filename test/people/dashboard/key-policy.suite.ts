import { expect, it } from 'vitest';
import { api, choose, dialog, join, makeKey, openDialog, row, visit } from './keys-page.ts';
import { expectAccessible, holdBack, keepPicture, type Stage } from './stage.ts';

/** The page of keys, where an admin bounds what members may set. */
export function keyPolicy(stage: Stage): void {
  it('of a member stay within the policy and what an admin set, which their form says', async () => {
    const [owner, member] = [await stage.person(), await stage.person()];
    await join(stage, owner, member, 'member');
    const theirs = await stage.open('/keys', { as: owner });
    const page = await stage.open('/keys', { as: member });
    await visit(page);
    await makeKey(page, 'mine');
    const workspace = (await api(theirs, '/workspaces')).data[0].id;
    const policy = {
      allowed_models: ['acme/s*'],
      max_key_limit_usd: 20.125,
      max_key_days: 30,
      openai_compatible: false,
    };
    const set = await theirs.request.put(`/v1/workspaces/${workspace}/policy`, { data: policy });
    expect(set.status()).toBe(200);
    await page.reload();
    await row(page, 'mine').getByText('of $20.13').waitFor();
    await openDialog(page);
    await dialog(page).getByLabel('Name').fill('bounded');
    await dialog(page).getByText('At most $20.125, by the workspace’s policy.').waitFor();
    await dialog(page).getByText('policy allows only tickets').waitFor();
    await dialog(page).getByText('Expiry, models and rate limits').click();
    await dialog(page).getByText('all that the workspace’s policy allows (acme/s*)').waitFor();
    await dialog(page).getByText('The workspace’s policy ends it on').waitFor();
    expect(await dialog(page).getByRole('checkbox', { name: 'acme/plain' }).count()).toBe(0);
    await dialog(page).getByLabel('Limit ($)').fill('21');
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    await dialog(page).getByText('Enter an amount above 0, such as 5 or 0.50, at most $20.125.').waitFor();
    await expectAccessible(page);
    await keepPicture(page, 'keys-policy');
    await dialog(page).getByLabel('Limit ($)').fill('');
    // The list of keys is slow. The new key is shown before it comes.
    const list = await holdBack(page, '**/v1/keys?*');
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    await dialog(page).getByRole('button', { name: 'Copy key' }).click();
    list();
    await dialog(page).getByRole('button', { name: 'Done' }).click();
    await row(page, 'bounded').getByText('of $20.13').waitFor();
    await row(page, 'bounded').getByText('Tickets only').waitFor();

    await theirs.reload();
    await choose(theirs, 'mine', 'Change');
    await dialog(theirs).getByLabel('Limit ($)').fill('2');
    await dialog(theirs).getByRole('button', { name: 'Save' }).click();
    await dialog(theirs).waitFor({ state: 'hidden' });
    await choose(theirs, 'mine', 'Disable');
    await theirs.getByRole('alertdialog').getByRole('button', { name: 'Disable key' }).click();
    await row(theirs, 'mine').getByText('Disabled by an admin').waitFor();
    await page.reload();
    await row(page, 'mine').getByText('Disabled by an admin').waitFor();
    await page.getByRole('button', { name: 'Actions for mine' }).click();
    expect(await page.getByRole('menuitem').allTextContents()).not.toContain('Enable');
    await page.getByRole('menuitem', { name: 'Change' }).click();
    await dialog(page).getByText('An admin of this workspace set this.').waitFor();
    expect(await dialog(page).getByLabel('Limit ($)').count()).toBe(0);
    await expectAccessible(page);
    await keepPicture(page, 'keys-locked');
    // The rest of the key can be changed.
    await dialog(page).getByLabel('Name').fill('still mine');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await row(page, 'still mine').waitFor();

    await stage.service.pool.query('update accounts set disabled_at = now() where id = $1', [member.accountId]);
    await theirs.reload();
    await row(theirs, 'bounded').getByText('Owner disabled').waitFor();
  });
}
