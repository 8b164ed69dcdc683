import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { thoroughly } from '../../kit/thorough.ts';
import { describeDashboard, expectAccessible, expectGoodLooks, keepPicture, type Person, type Stage } from './stage.ts';

const row = (page: Page, name: string) =>
  page.getByRole('table', { name: 'Keys' }).locator('tbody tr', { hasText: name });
const dialog = (page: Page) => page.getByRole('dialog');
const api = (page: Page, path: string) =>
  page
    .context()
    .request.get(`/v1${path}`)
    .then((answer) => answer.json());

async function openDialog(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Make a key' }).first().click();
  await dialog(page).getByLabel('Name').waitFor();
}

/** Makes a key by hand and answers its secret. */
async function makeKey(page: Page, name: string, { limit = '' } = {}): Promise<string> {
  await openDialog(page);
  await dialog(page).getByLabel('Name').fill(name);
  await dialog(page).getByLabel('Limit in USD').fill(limit);
  await dialog(page).getByRole('button', { name: 'Make the key' }).click();
  const key = (await dialog(page).getByTestId('new-key').textContent()) ?? '';
  await dialog(page).getByRole('button', { name: 'Copy key' }).click();
  await dialog(page).getByText('Copied').waitFor();
  await dialog(page).getByRole('button', { name: 'Done' }).click();
  await dialog(page).waitFor({ state: 'hidden' });
  return key;
}

async function choose(page: Page, name: string, deed: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${name}` }).click();
  await page.getByRole('menuitem', { name: deed }).click();
}

const ask = ({ service }: Stage, key: string, model = 'acme/small'): Promise<Response> =>
  fetch(`${service.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
  });

/** Puts somebody into the default workspace of another, by the database: invitations have tests of their own. */
async function join(stage: Stage, owner: Person, member: Person, role: string): Promise<void> {
  await stage.service.pool.query(
    `insert into workspace_members (workspace_id, account_id, role)
     select id, $2, $3 from workspaces where account_id = $1 and is_default`,
    [owner.accountId, member.accountId, role],
  );
}

/** Chooses the workspace which is not one's own. */
async function visit(page: Page, owner: Person): Promise<void> {
  const { data } = await api(page, '/workspaces');
  const own = data.find(({ is_default }: { is_default: boolean }) => !is_default);
  await page.evaluate(`localStorage.setItem('sotto.workspace', ${JSON.stringify(own?.id)})`);
  expect(owner.accountId).not.toBe('');
  await page.reload();
}

await describeDashboard('keys', (stage) => {
  it('begin with none, and the way to the first', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    await page.getByText('No keys in this workspace yet').waitFor();
    await makeKey(page, 'first');
    await row(page, 'first').waitFor();
  });

  it('are shown once: closing without a copy is warned of, and afterwards only a preview is there', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    await openDialog(page);
    await dialog(page).getByLabel('Name').fill('laptop');
    await dialog(page).getByRole('button', { name: 'Make the key' }).click();
    const key = (await dialog(page).getByTestId('new-key').textContent()) ?? '';
    expect(key).toMatch(/^sotto_inf_/);
    await page.keyboard.press('Escape');
    await dialog(page).getByText('nobody can show it again').waitFor();
    expect(await dialog(page).getByTestId('new-key').textContent()).toBe(key);
    await dialog(page).getByRole('button', { name: 'Copy key first' }).click();
    await dialog(page).getByRole('button', { name: 'Done' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key);
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'hidden' });
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Make a key');
    expect(await page.content()).not.toContain(key);
    expect(await row(page, 'laptop').textContent()).toContain(key.slice(-4));
    expect((await ask(stage, key)).status).toBe(200);
    // Nor is it there when the next one is made.
    await openDialog(page);
    expect(await dialog(page).getByLabel('Name').inputValue()).toBe('');
  });

  it('may be closed uncopied by whoever says so', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    await openDialog(page);
    await dialog(page).getByLabel('Name').fill('lost');
    await dialog(page).getByRole('button', { name: 'Make the key' }).click();
    await dialog(page).getByRole('button', { name: 'Done' }).click();
    await dialog(page).getByRole('button', { name: 'Close without copying' }).click();
    await dialog(page).waitFor({ state: 'hidden' });
    await row(page, 'lost').waitFor();
  });

  it('refused keep what was typed, and say at the field what would be right', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    await openDialog(page);
    await dialog(page).getByLabel('Name').fill('careful');
    const limit = dialog(page).getByLabel('Limit in USD');
    await limit.fill('ten');
    await dialog(page).getByRole('button', { name: 'Make the key' }).click();
    await dialog(page).getByText('Write an amount in USD').waitFor();
    await limit.fill('5000000');
    await dialog(page).getByRole('button', { name: 'Make the key' }).click();
    await dialog(page).getByText('at most 1,000,000').waitFor();
    expect(await limit.getAttribute('aria-invalid')).toBe('true');
    expect(await dialog(page).getByLabel('Name').inputValue()).toBe('careful');
    // What the service refuses is said in its words, at its field.
    await limit.fill('10');
    await dialog(page).getByLabel('Name').fill('   ');
    await dialog(page).getByRole('button', { name: 'Make the key' }).click();
    await dialog(page).getByText('`name` must').waitFor();
    expect(await limit.inputValue()).toBe('10');
    await expectAccessible(page);
    await keepPicture(page, 'keys-refused');
    await dialog(page).getByLabel('Name').fill('careful');
    await dialog(page).getByRole('button', { name: 'Make the key' }).click();
    await dialog(page).getByTestId('new-key').waitFor();
  });

  it('spend up to their limit and say when it is reached; raising it opens them again', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    const key = await makeKey(page, 'bounded', { limit: '0' });
    await row(page, 'bounded').getByText('Limit reached').waitFor();
    expect((await ask(stage, key)).status).toBe(402);
    await choose(page, 'bounded', 'Change');
    await dialog(page).getByLabel('Limit in USD').fill('2');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await dialog(page).waitFor({ state: 'hidden' });
    await expect.poll(() => row(page, 'bounded').textContent()).toContain('of $2.00');
    expect((await ask(stage, key)).status).toBe(200);
  });

  it('change their name and access, and the focus returns to where it was', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    const key = await makeKey(page, 'old name');
    await choose(page, 'old name', 'Change');
    await dialog(page).getByLabel('Name').fill('new name');
    const access = dialog(page).getByRole('switch', { name: 'Works with any OpenAI client' });
    await dialog(page).getByText('can be linked to this key').waitFor();
    await access.click();
    await dialog(page).getByText('never meets content').waitFor();
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await row(page, 'new name').getByText('Tickets only').waitFor();
    await dialog(page).waitFor({ state: 'hidden' });
    const refused = await ask(stage, key);
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ error: { type: 'compatibility_access_disabled' } });
    await choose(page, 'new name', 'Change');
    await dialog(page).waitFor();
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'hidden' });
    await expect
      .poll(() => page.evaluate('document.activeElement.getAttribute("aria-label")'))
      .toBe('Actions for new name');
  });

  it('are revoked after a second question, at once, and are shown when asked for', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    const key = await makeKey(page, 'leaked');
    await makeKey(page, 'kept');
    expect((await ask(stage, key)).status).toBe(200);
    await choose(page, 'leaked', 'Revoke');
    const question = page.getByRole('alertdialog');
    await question.getByText('This cannot be taken back.').waitFor();
    await expectAccessible(page);
    await keepPicture(page, 'keys-revoke');
    await question.getByRole('button', { name: 'Cancel' }).click();
    expect((await ask(stage, key)).status).toBe(200);
    await choose(page, 'leaked', 'Revoke');
    await question.getByRole('button', { name: 'Revoke the key' }).click();
    await row(page, 'leaked').waitFor({ state: 'hidden' });
    // The button that led there is gone with its row.
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('content');
    expect((await ask(stage, key)).status).toBe(401);
    await page.getByRole('switch', { name: 'Show revoked (1)' }).click();
    await row(page, 'leaked').getByText('Revoked', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Actions for leaked' }).click();
    expect(await page.getByRole('menuitem').allTextContents()).toEqual(['Its usage']);
    await page.keyboard.press('Escape');
    await page.getByRole('searchbox', { name: 'Filter by name' }).fill('kep');
    await row(page, 'leaked').waitFor({ state: 'hidden' });
    await page.reload();
    await row(page, 'kept').waitFor();
    expect(await row(page, 'leaked').count()).toBe(0);
  });

  it('for management are made by owners, and open balance and usage only', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    await openDialog(page);
    await dialog(page).getByLabel('Name').fill('books');
    await dialog(page)
      .getByRole('radio', { name: /Management/ })
      .check();
    expect(await dialog(page).getByLabel('Limit in USD').count()).toBe(0);
    await dialog(page).getByRole('button', { name: 'Make the key' }).click();
    const key = (await dialog(page).getByTestId('new-key').textContent()) ?? '';
    expect(key).toMatch(/^sotto_mgt_/);
    const balance = await fetch(`${stage.service.controlUrl}/balance`, { headers: { authorization: `Bearer ${key}` } });
    expect(await balance.json()).toMatchObject({ available: 10 });
    expect((await ask(stage, key)).status).toBe(403);
  });

  it('offer each role what it may do, and no more', async () => {
    const [owner, member, viewer] = [await stage.person(), await stage.person(), await stage.person()];
    await join(stage, owner, member, 'member');
    await join(stage, owner, viewer, 'viewer');
    const ownersPage = await stage.open('/keys', { as: owner });
    await makeKey(ownersPage, 'of the owner');

    const page = await stage.open('/keys', { as: member });
    await visit(page, owner);
    await row(page, 'of the owner').waitFor();
    await row(page, 'of the owner').getByText(`by ${owner.email}`).waitFor();
    await openDialog(page);
    expect(await dialog(page).getByRole('radio').count()).toBe(0);
    await page.keyboard.press('Escape');
    await makeKey(page, 'of the member');
    await row(page, 'of the member').getByText('by you').waitFor();
    const deeds = async (name: string): Promise<string[]> => {
      await page.getByRole('button', { name: `Actions for ${name}` }).click();
      const offered = await page.getByRole('menuitem').allTextContents();
      await page.keyboard.press('Escape');
      return offered;
    };
    expect(await deeds('of the owner')).toEqual(['Its usage']);
    expect(await deeds('of the member')).toEqual(['Change', 'Its usage', 'Revoke']);

    const viewersPage = await stage.open('/keys', { as: viewer });
    await visit(viewersPage, owner);
    await viewersPage.getByText('Your role here is viewer').waitFor();
    await row(viewersPage, 'of the owner').waitFor();
    expect(await viewersPage.getByRole('button', { name: 'Make a key' }).count()).toBe(0);

    // A role that was taken away meanwhile is told in the service's own words.
    await openDialog(page);
    await dialog(page).getByLabel('Name').fill('too late');
    await stage.service.pool.query("update workspace_members set role = 'viewer' where account_id = $1", [
      member.accountId,
    ]);
    await dialog(page).getByRole('button', { name: 'Make the key' }).click();
    await dialog(page).getByRole('alert').getByText('yours is `viewer`').waitFor();
    expect(await dialog(page).getByLabel('Name').inputValue()).toBe('too late');
  });

  thoroughly('look well', async () => {
    const person = await stage.person();
    const page = await stage.open('/keys', { as: person });
    await makeKey(page, 'laptop', { limit: '5' });
    await makeKey(page, 'nightly job');
    await makeKey(page, 'a demonstration with a rather long name, for the people upstairs', { limit: '0.01' });
    await makeKey(page, 'old');
    await stage.service.pool.query(
      `update api_keys set last_used_at = now() - interval '3 hours', spent_nusd = case name when 'laptop' then 4600000000
         when 'nightly job' then 1234000000 when 'old' then 20000 else 10000000 end,
         revoked_at = case name when 'old' then now() end where account_id = $1`,
      [person.accountId],
    );
    await expectGoodLooks(stage, {
      name: 'keys',
      path: '/keys?revoked=true',
      as: person,
      shown: (shown) => row(shown, 'laptop').getByText('by you').waitFor(),
    });
  });

  thoroughly('look well where there are none', async () => {
    await expectGoodLooks(stage, {
      name: 'keys-none',
      path: '/keys',
      as: await stage.person(),
      shown: (page) => page.getByText('No keys in this workspace yet').waitFor(),
    });
  });

  thoroughly('look well while they are made', async () => {
    await expectGoodLooks(stage, { name: 'keys-make', path: '/keys', as: await stage.person(), shown: openDialog });
  });

  thoroughly('look well when they are shown, once', async () => {
    await expectGoodLooks(stage, {
      name: 'keys-new',
      path: '/keys',
      as: await stage.person(),
      shown: async (page) => {
        await openDialog(page);
        await dialog(page).getByLabel('Name').fill('laptop');
        await dialog(page).getByRole('button', { name: 'Make the key' }).click();
        await dialog(page).getByTestId('new-key').waitFor();
        await dialog(page).getByRole('button', { name: 'Done' }).click();
        await dialog(page).getByText('nobody can show it again').waitFor();
      },
    });
  });
});
