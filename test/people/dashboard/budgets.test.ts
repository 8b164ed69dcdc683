import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { ask } from '../../kit/client.ts';
import { until } from '../../kit/service.ts';
import type { SignedUp } from '../../kit/signed-up.ts';
import { createKey, describeDashboard, expectGoodLooks, holdBack, keepPicture, type Stage } from './stage.ts';

const longName = `${'a name without any space that is as long as names may be '.replaceAll(' ', '-')}${'x'.repeat(40)}`;

/** Notes that a key has spent this much in the present month. */
async function spend({ service }: Stage, keyId: string, usd: number): Promise<void> {
  await service.pool.query(
    `insert into key_months (key_id, month, spent_nusd) values ($1, to_char(now() at time zone 'utc', 'YYYY-MM'), $2)
     on conflict (key_id, month) do update set spent_nusd = excluded.spent_nusd`,
    [keyId, Math.round(usd * 1e9)],
  );
}

/** The default workspace of a person with two keys, one of which has a long name, and a member. */
async function workspaceOf(stage: Stage, owner: SignedUp, guest: SignedUp) {
  const page = await stage.open('/budgets', { as: owner });
  const send = async (path: string, data: object, method: 'post' | 'put' | 'patch' = 'post') => {
    const answer = await page.request[method](`/v1${path}`, { data });
    expect(answer.ok(), await answer.text()).toBe(true);
    return answer.json();
  };
  const { data } = await (await page.request.get('/v1/workspaces')).json();
  const id: string = data[0].id;
  const make = async (name: string): Promise<string> =>
    (await send('/keys', { name, kind: 'inference', workspace_id: id })).id;
  const keys = [await make('nightly'), await make(longName)] as const;
  const { token } = await send(`/workspaces/${id}/invitations`, { email: guest.email, role: 'member' });
  const theirs = await stage.open('/budgets', { as: guest });
  expect((await theirs.request.post('/v1/invitations/accept', { data: { token } })).status()).toBe(200);
  const tagKeys = async (tag: string): Promise<void> => {
    for (const key of keys) await send(`/keys/${key}`, { tag }, 'patch');
  };
  const setBudget = (body: object) => send(`/workspaces/${id}/budgets`, body, 'put');
  return { page, theirs, id, keys, tagKeys, setBudget };
}

async function chooseOfWebhook(page: Page, action: string): Promise<void> {
  await page.getByRole('button', { name: 'Actions for the webhook' }).click();
  await page.getByRole('menuitem', { name: action }).click();
}

await describeDashboard('budgets', (stage) => {
  it('are set for the workspace, a member and a key, changed and removed', async () => {
    const [owner, guest] = [await stage.person(), await stage.person(0)];
    const { page, keys } = await workspaceOf(stage, owner, guest);
    await page.reload();
    await page.getByRole('button', { name: 'Set budget' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Limit ($ per month)').fill('ten');
    await dialog.getByRole('button', { name: 'Set budget' }).click();
    await dialog.getByText('An amount in $').waitFor();
    await dialog.getByLabel('Limit ($ per month)').fill('50');
    await dialog.getByRole('button', { name: 'Set budget' }).click();
    const table = page.getByRole('table', { name: 'Budgets' });
    await table.getByRole('row', { name: /Whole workspace.*\$0\.00.*of \$50\.00/ }).waitFor();

    await page.getByRole('button', { name: 'Set budget' }).click();
    expect(await dialog.getByRole('radio', { name: 'Workspace' }).isDisabled()).toBe(true);
    await dialog.getByRole('radio', { name: 'Member' }).check();
    await dialog.getByLabel('Member', { exact: true }).and(page.locator('select')).selectOption({ label: guest.email });
    await dialog.getByLabel('Limit ($ per month)').fill('5');
    await dialog.getByRole('button', { name: 'Set budget' }).click();
    await table.getByRole('row', { name: new RegExp(`${guest.email}.*of \\$5\\.00`) }).waitFor();

    await page.getByRole('button', { name: 'Set budget' }).click();
    await dialog.getByRole('radio', { name: 'Key One key' }).check();
    await dialog.locator('select').selectOption(keys[0]);
    await dialog.getByLabel('Limit ($ per month)').fill('2');
    await dialog.getByRole('button', { name: 'Set budget' }).click();
    const ofKey = table.getByRole('row', { name: /nightly/ });
    await ofKey.waitFor();
    await spend(stage, keys[0], 1.8);
    await page.reload();
    await ofKey.getByText('Nearly used up').waitFor();

    await page.getByRole('button', { name: 'Actions for nightly' }).click();
    await page.getByRole('menuitem', { name: 'Change limit' }).click();
    await dialog.getByLabel('Limit ($ per month)').fill('1.5');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await ofKey.getByText('Used up').waitFor();
    await page.getByRole('button', { name: 'Actions for nightly' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
    await ofKey.waitFor({ state: 'detached' });
  });

  it('say how many requests they refused and why, and warn of a limit below what one request sets aside', async () => {
    const person = await stage.person();
    const page = await stage.open('/budgets', { as: person });
    const { key, workspace_id: id } = await createKey(page, { name: 'refused' });
    // An amount with parts of a cent. To type what the warning says must be enough.
    await page.route('**/v1/routing/preview', async (route) => {
      const response = await route.fetch();
      const preview = await response.json();
      await route.fulfill({ response, json: { ...preview, hold_usd: preview.hold_usd && 0.1234 } });
    });
    await page.getByRole('button', { name: 'Set budget' }).first().click();
    const limit = page.getByRole('dialog').getByLabel('Limit ($ per month)');
    await limit.fill('0.0000001');
    const warning = page.getByText(/^A request to .* first sets .* aside, unless it states max_tokens\./);
    const [, least = ''] = /\$(\S+) aside/.exec((await warning.textContent()) ?? '') ?? [];
    await limit.fill(least);
    await page.getByText('Counts the whole present month (UTC).').waitFor();
    await page.keyboard.press('Escape');
    const set = await page.request.put(`/v1/workspaces/${id}/budgets`, { data: { limit_usd: 0.0000001 } });
    expect(set.ok(), await set.text()).toBe(true);
    await expect.poll(async () => (await ask(stage.service, key, { model: 'acme/small' })).status).toBe(402);
    const row = page.getByRole('row', { name: /Whole workspace/ });
    await until(async () => {
      await page.reload();
      await row.waitFor();
      return /requests? refused in the last 24 hours\. A request first sets/.test((await row.textContent()) ?? '');
    }, 'the refusals are counted');
  });

  it('are set for a tag of keys, changed and removed', async () => {
    const { page, keys, tagKeys } = await workspaceOf(stage, await stage.person(), await stage.person(0));
    await page.reload();
    await page.getByRole('button', { name: 'Set budget' }).first().click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('radio', { name: 'Tag' }).isDisabled()).toBe(true);
    await tagKeys('R&D');
    await page.reload();
    await page.getByRole('button', { name: 'Set budget' }).first().click();
    await dialog.getByRole('radio', { name: 'Tag' }).check();
    await dialog.getByLabel('Tag', { exact: true }).and(page.locator('select')).selectOption('R&D');
    await dialog.getByLabel('Limit ($ per month)').fill('5');
    await dialog.getByRole('button', { name: 'Set budget' }).click();
    const row = page.getByRole('row', { name: /R&D.*Tag.*\$0\.00.*of \$5\.00/ });
    await row.waitFor();
    // Each tag has one.
    await page.getByRole('button', { name: 'Set budget' }).click();
    expect(await dialog.getByRole('radio', { name: 'Tag' }).isDisabled()).toBe(true);
    await page.keyboard.press('Escape');
    // What the keys spent before, or spend without the tag, is not its.
    await spend(stage, keys[0], 4.9);
    await page.reload();
    await row.waitFor();
    await page.getByRole('button', { name: 'Actions for R&D' }).click();
    await page.getByRole('menuitem', { name: 'Change limit' }).click();
    await dialog.getByLabel('Limit ($ per month)').fill('7');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /R&D.*of \$7\.00/ }).waitFor();
    await page.getByRole('button', { name: 'Actions for R&D' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await page.getByText('R&D: a month may then cost any amount that the balance covers.').waitFor();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No budgets in this workspace yet').waitFor();
  });

  it('are set for a member who is loaded only after the dialog has opened', async () => {
    const page = await stage.open('/verify', { as: await stage.person() });
    const load = await holdBack(page, '**/v1/workspaces/*/members?*');
    await page.goto('/budgets');
    await page.getByRole('button', { name: 'Set budget' }).first().click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('radio', { name: 'Member' }).isDisabled()).toBe(true);
    load();
    await dialog.getByRole('radio', { name: 'Member' }).check();
    await dialog.getByLabel('Limit ($ per month)').fill('5');
    await dialog.getByRole('button', { name: 'Set budget' }).click();
    await page.getByRole('row', { name: /Member.*of \$5\.00/ }).waitFor();
  });

  it('are not set for the workspace if the last key without one gets it while the dialog is open', async () => {
    const { page, keys, setBudget } = await workspaceOf(stage, await stage.person(), await stage.person(0));
    await page.reload();
    await page.getByRole('button', { name: 'Set budget' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('radio', { name: 'Key One key' }).check();
    await dialog.getByLabel('Limit ($ per month)').fill('2');
    for (const key_id of keys) await setBudget({ key_id, limit_usd: 1 });
    // The user comes back to the tab much later, so the page loads the budgets again.
    await page.clock.setFixedTime(Date.now() + 3_600_000);
    await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
    await page.locator('tr', { hasText: 'nightly' }).waitFor();
    await expect.poll(() => dialog.getByRole('button', { name: 'Set budget' }).isDisabled()).toBe(true);
    await dialog.getByRole('radio', { name: 'Workspace' }).check();
    expect(await dialog.getByRole('button', { name: 'Set budget' }).isDisabled()).toBe(false);
  });

  it('have a default for each member, which one of their own replaces, and percents at which they alert', async () => {
    const [owner, guest] = [await stage.person(), await stage.person(0)];
    const { page } = await workspaceOf(stage, owner, guest);
    await page.reload();
    const ofMembers = page.getByLabel('Budget of each member ($ per month)');
    await ofMembers.fill('20');
    await page.getByRole('checkbox', { name: '50%' }).uncheck();
    await page.getByRole('checkbox', { name: '90%' }).check();
    await page.getByRole('button', { name: 'Save' }).click();
    const row = page.getByRole('row', { name: new RegExp(`${guest.email}.*Default.*of \\$20\\.00`) });
    await row.waitFor();
    await page.reload();
    await row.waitFor();
    expect(await ofMembers.inputValue()).toBe('20');
    const chosen = await Promise.all(
      ['25%', '50%', '80%', '90%', '100%'].map((name) => page.getByRole('checkbox', { name }).isChecked()),
    );
    expect(chosen).toEqual([false, false, true, true, true]);
    // Only one action: the default cannot be removed.
    await page.getByRole('button', { name: `Set another limit ${guest.email}` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Limit ($ per month)').fill('7');
    await dialog.getByRole('button', { name: 'Save' }).click();
    const own = page.getByRole('row', { name: new RegExp(`${guest.email}.*of \\$7\\.00`) });
    await own.waitFor();
    expect(await own.getByText('Default').count()).toBe(0);
    await page.getByRole('button', { name: `Actions for ${guest.email}` }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    const question = page.getByRole('alertdialog');
    await question.getByText(`${guest.email}: the budget of each member, $20.00 a month, then applies.`).waitFor();
    await question.getByRole('button', { name: 'Remove' }).click();
    await row.waitFor();
  });

  it('show a member what they may see, and nothing to change', async () => {
    const [owner, guest] = [await stage.person(), await stage.person(0)];
    const { theirs, setBudget, id } = await workspaceOf(stage, owner, guest);
    await setBudget({ limit_usd: 20 });
    await theirs.evaluate((workspaceId) => localStorage.setItem('sotto.workspace', workspaceId), id);
    await theirs.reload();
    await theirs.getByText('Your role here is member: you can see budgets, but not change them.').waitFor();
    await theirs.getByRole('row', { name: /Whole workspace/ }).waitFor();
    expect(await theirs.getByRole('button', { name: /Set budget|Actions for|webhook/ }).count()).toBe(0);
  });

  it('set up a webhook whose secret is shown once, test it, and remove it', async () => {
    const page = await stage.open('/budgets', { as: await stage.person() });
    await page.getByRole('button', { name: 'Set up webhook' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('URL').fill('http://hooks.example.com/');
    await dialog.getByRole('button', { name: 'Set webhook' }).click();
    await dialog.getByText('must be a URL such as').waitFor();
    expect(await dialog.getByLabel('URL').inputValue()).toBe('http://hooks.example.com/');
    const url = `https://127.0.0.1:9/${randomUUID()}`;
    await dialog.getByLabel('URL').fill(url);
    await dialog.getByLabel('Format').selectOption('slack');
    await dialog.getByRole('button', { name: 'Set webhook' }).click();
    expect(await dialog.getByTestId('new-secret').textContent()).toMatch(/^whsec_/);
    await keepPicture(page, 'budgets-secret');
    await page.keyboard.press('Escape');
    await dialog.getByText('You have not copied the secret.').waitFor();
    await dialog.getByRole('button', { name: 'Copy secret first' }).click();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByText(url).waitFor();
    await page.reload();
    await page.getByRole('row', { name: /hooks|127\.0\.0\.1.*Slack/ }).waitFor();
    expect(await page.getByText('whsec_').count()).toBe(0);
    await chooseOfWebhook(page, 'Send test event');
    await page.getByText('The URL does not lead to a public address.').waitFor();
    await chooseOfWebhook(page, 'Remove');
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Set up webhook' }).waitFor();
  });

  it('look good while empty, and with long names and budgets that are used up', async () => {
    const [owner, guest] = [await stage.person(), await stage.person(0)];
    const { page, id, keys, tagKeys, setBudget } = await workspaceOf(stage, owner, guest);
    const widths = [390, 1440];
    await expectGoodLooks(stage, {
      ...{ name: 'budgets-empty', path: '/budgets', as: owner, widths },
      shown: (shown) => shown.getByText('No budgets in this workspace yet').waitFor(),
    });
    await setBudget({ limit_usd: 100 });
    await setBudget({ limit_usd: 50, key_id: keys[0] });
    await setBudget({ limit_usd: 40, key_id: keys[1] });
    await setBudget({ limit_usd: 10, member_id: guest.accountId });
    await tagKeys('Research and development');
    await setBudget({ limit_usd: 30, tag: 'Research and development' });
    await tagKeys('long-'.repeat(20));
    await setBudget({ limit_usd: 20, tag: 'long-'.repeat(20) });
    await tagKeys('Sales');
    await spend(stage, keys[0], 30);
    await spend(stage, keys[1], 41);
    const hook = { data: { url: `https://hooks.example.com/${'long-'.repeat(40)}` } };
    expect((await page.request.put(`/v1/workspaces/${id}/webhook`, hook)).status()).toBe(200);
    await expectGoodLooks(stage, {
      ...{ name: 'budgets', path: '/budgets', as: owner, widths },
      shown: async (shown) => {
        await shown.getByText('Used up', { exact: true }).waitFor();
        await shown.getByRole('button', { name: 'Actions for the webhook' }).waitFor();
      },
    });
    await page.reload();
    await page.getByRole('button', { name: 'Set budget' }).click();
    await page.getByRole('radio', { name: 'Tag' }).check();
    await keepPicture(page, 'budgets-dialog');
  });
});
