import { expect, it } from 'vitest';
import { ask } from '../../kit/client.ts';
import { keyLooks } from './key-looks.suite.ts';
import { api, choose, dialog, join, makeKey, openDialog, row, visit } from './keys-page.ts';
import { describeDashboard, expectAccessible, holdBack, keepPicture } from './stage.ts';

const model = 'acme/small';

await describeDashboard('keys', (stage) => {
  it('begin empty, with a link to create the first', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    await page.getByText('No keys in this workspace yet').waitFor();
    await makeKey(page, 'first');
    await row(page, 'first').waitFor();
  });

  it('are shown once: closing without a copy shows a warning, and afterwards only a preview is left', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    await openDialog(page);
    await dialog(page).getByLabel('Name').fill('laptop');
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    const key = (await dialog(page).getByTestId('new-key').textContent()) ?? '';
    expect(key).toMatch(/^sotto_inf_/);
    await page.keyboard.press('Escape');
    await dialog(page).getByText('it cannot be shown again').waitFor();
    expect(await dialog(page).getByTestId('new-key').textContent()).toBe(key);
    await dialog(page).getByRole('button', { name: 'Copy key first' }).click();
    await dialog(page).getByRole('button', { name: 'Done' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key);
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'hidden' });
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Create key');
    expect(await page.content()).not.toContain(key);
    expect(await row(page, 'laptop').textContent()).toContain(key.slice(-4));
    expect((await ask(stage.service, key, { model })).status).toBe(200);
    // The dialog for the next key does not contain the secret either.
    await openDialog(page);
    expect(await dialog(page).getByLabel('Name').inputValue()).toBe('');
  });

  it('may be closed uncopied after a confirmation', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    await openDialog(page);
    await dialog(page).getByLabel('Name').fill('lost');
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    await dialog(page).getByRole('button', { name: 'Done' }).click();
    await dialog(page).getByRole('button', { name: 'Close without copying' }).click();
    await dialog(page).waitFor({ state: 'hidden' });
    await row(page, 'lost').waitFor();
  });

  it('keep the typed values when refused, and explain the right value at the field', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    await openDialog(page);
    await dialog(page).getByLabel('Name').fill('careful');
    const limit = dialog(page).getByLabel('Limit ($)');
    await limit.fill('ten');
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    await dialog(page).getByText('Enter an amount above 0').waitFor();
    await limit.fill('0');
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    await limit.fill('5000000');
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    await dialog(page).getByText('at most 1,000,000').waitFor();
    expect(await limit.getAttribute('aria-invalid')).toBe('true');
    expect(await dialog(page).getByLabel('Name').inputValue()).toBe('careful');
    // An error from the service appears in its own words at the field.
    await limit.fill('10');
    await dialog(page).getByLabel('Name').fill('   ');
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    await dialog(page).getByText('Fill in this field.').waitFor();
    expect(await limit.inputValue()).toBe('10');
    await expectAccessible(page);
    await keepPicture(page, 'keys-refused');
    await dialog(page).getByLabel('Name').fill('careful');
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    await dialog(page).getByTestId('new-key').waitFor();
  });

  it('spend up to their limit and say when it is reached; a higher limit opens them again', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    const key = await makeKey(page, 'bounded');
    const [{ id }] = (await api(page, '/keys')).data;
    await page.context().request.patch(`/v1/keys/${id}`, { data: { credit_limit_usd: 0 } });
    await page.reload();
    await row(page, 'bounded').getByText('Limit reached').waitFor();
    expect((await ask(stage.service, key, { model })).status).toBe(402);
    await choose(page, 'bounded', 'Change');
    await dialog(page).getByLabel('Limit ($)').fill('2');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await dialog(page).waitFor({ state: 'hidden' });
    await expect.poll(() => row(page, 'bounded').textContent()).toContain('of $2.00');
    expect((await ask(stage.service, key, { model })).status).toBe(200);
  });

  it('change their name and access, and the focus returns to its place', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    const key = await makeKey(page, 'old name');
    await choose(page, 'old name', 'Change');
    await dialog(page).getByLabel('Name').fill('new name');
    const access = dialog(page).getByRole('switch', { name: 'Works with any OpenAI client' });
    await dialog(page).getByText('can link the request to this key').waitFor();
    await access.click();
    await dialog(page).getByText('never travels with content').waitFor();
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await row(page, 'new name').getByText('Tickets only').waitFor();
    await dialog(page).waitFor({ state: 'hidden' });
    const refused = await ask(stage.service, key, { model });
    expect(refused.status).toBe(403);
    expect(refused.json).toMatchObject({ error: { type: 'compatibility_access_disabled' } });
    await choose(page, 'new name', 'Change');
    await dialog(page).waitFor();
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'hidden' });
    await expect
      .poll(() => page.evaluate('document.activeElement.getAttribute("aria-label")'))
      .toBe('Actions for new name');
  });

  it('are revoked after a confirmation, at once, and are shown on request', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    const key = await makeKey(page, 'leaked');
    await makeKey(page, 'kept');
    expect((await ask(stage.service, key, { model })).status).toBe(200);
    await choose(page, 'leaked', 'Revoke');
    const question = page.getByRole('alertdialog');
    await question.getByText('You cannot undo this.').waitFor();
    await expectAccessible(page);
    await keepPicture(page, 'keys-revoke');
    await question.getByRole('button', { name: 'Cancel' }).click();
    expect((await ask(stage.service, key, { model })).status).toBe(200);
    await choose(page, 'leaked', 'Revoke');
    await question.getByRole('button', { name: 'Revoke key' }).click();
    await row(page, 'leaked').waitFor({ state: 'hidden' });
    // The button that opened the dialog has disappeared with its row.
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('content');
    expect((await ask(stage.service, key, { model })).status).toBe(401);
    await page.getByRole('switch', { name: 'Show revoked and expired (1)' }).click();
    await row(page, 'leaked').getByText('Revoked', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Actions for leaked' }).click();
    expect(await page.getByRole('menuitem').allTextContents()).toEqual(['Its usage']);
    await page.keyboard.press('Escape');
    await page.getByRole('searchbox', { name: 'Filter by name, tag or owner' }).fill('kep');
    await row(page, 'leaked').waitFor({ state: 'hidden' });
    await page.reload();
    await row(page, 'kept').waitFor();
    expect(await row(page, 'leaked').count()).toBe(0);
  });

  it('keep their question open until they are revoked', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    await makeKey(page, 'slow');
    const answer = await holdBack(page, '**/v1/keys/*');
    await choose(page, 'slow', 'Revoke');
    const question = page.getByRole('alertdialog');
    await question.getByRole('button', { name: 'Revoke key' }).click();
    await question.getByRole('button', { name: 'Revoke key', disabled: true }).waitFor();
    await page.keyboard.press('Escape');
    await question.getByRole('button', { name: 'Cancel' }).click();
    await question.waitFor();
    answer();
    await row(page, 'slow').waitFor({ state: 'hidden' });
    await question.waitFor({ state: 'hidden' });
  });

  it('are disabled and enabled from the list, and say their state', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    const key = await makeKey(page, 'paused');
    await row(page, 'paused').getByText('Active').waitFor();
    await choose(page, 'paused', 'Disable');
    const question = page.getByRole('alertdialog');
    await question.getByText('until you enable it again').waitFor();
    await question.getByRole('button', { name: 'Disable key' }).click();
    await row(page, 'paused').getByText('Disabled').waitFor();
    expect((await ask(stage.service, key, { model })).status).toBe(401);
    await choose(page, 'paused', 'Enable');
    await question.getByRole('button', { name: 'Enable key' }).click();
    await row(page, 'paused').getByText('Active').waitFor();
    expect((await ask(stage.service, key, { model })).status).toBe(200);
  });

  it('are rotated: the new secret is shown once, and the old one works until its overlap ends', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    const first = await makeKey(page, 'rotated', { limit: '5' });
    await choose(page, 'rotated', 'Rotate');
    await dialog(page).getByLabel('The old secret stops').selectOption({ label: 'After 3 days' });
    await expectAccessible(page);
    await keepPicture(page, 'keys-rotate');
    await dialog(page).getByRole('button', { name: 'Create new secret' }).click();
    const second = (await dialog(page).getByTestId('new-key').textContent()) ?? '';
    expect(second).not.toBe(first);
    await dialog(page).getByRole('button', { name: 'Copy key' }).click();
    await dialog(page).getByRole('button', { name: 'Done' }).click();
    await dialog(page).waitFor({ state: 'hidden' });
    expect(await page.content()).not.toContain(second);
    await row(page, 'rotated').getByText('old secret until').waitFor();
    expect(await row(page, 'rotated').textContent()).toContain(second.slice(-4));
    for (const key of [first, second]) expect((await ask(stage.service, key, { model })).status).toBe(200);
    await choose(page, 'rotated', 'Rotate');
    await dialog(page).getByLabel('The old secret stops').selectOption({ label: 'At once' });
    await dialog(page).getByText('are refused from now on').waitFor();
    await dialog(page).getByRole('button', { name: 'Create new secret' }).click();
    const third = (await dialog(page).getByTestId('new-key').textContent()) ?? '';
    for (const key of [first, second]) expect((await ask(stage.service, key, { model })).status).toBe(401);
    expect((await ask(stage.service, third, { model })).status).toBe(200);
  });

  it('show the new secret of a rotated key, even if the filter of the list does not match the key any more', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    const first = await makeKey(page, 'found by its ending');
    await page.getByLabel('Filter by name, tag or owner').fill(first.slice(-4));
    await choose(page, 'found by its ending', 'Rotate');
    await dialog(page).getByRole('button', { name: 'Create new secret' }).click();
    // The list is loaded again: it has the new ending.
    await page.getByText('No key’s name, ending, tag or owner contains this text.').waitFor();
    const second = (await dialog(page).getByTestId('new-key').textContent()) ?? '';
    expect((await ask(stage.service, second, { model })).status).toBe(200);
  });

  it('take an expiry, allowed models and rate limits, and keep what is not changed', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    await openDialog(page);
    await dialog(page).getByLabel('Name').fill('ruled');
    await dialog(page).getByText('Expiry, models and rate limits').click();
    const day = dialog(page).getByLabel('Last day');
    await day.fill('2021-01-01');
    await dialog(page).getByLabel('Requests per minute').fill('none');
    await dialog(page).getByRole('checkbox', { name: 'acme/plain' }).check();
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    await dialog(page).getByText('Choose today or a later day.').waitFor();
    await dialog(page).getByText('Enter a whole number above 0.').waitFor();
    await day.fill('2090-05-17');
    await dialog(page).getByLabel('Requests per minute').fill('999999999');
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    await dialog(page).getByText('this deployment allows at most').waitFor();
    await expectAccessible(page);
    await keepPicture(page, 'keys-rules');
    await dialog(page).getByLabel('Requests per minute').fill('7');
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    const key = (await dialog(page).getByTestId('new-key').textContent()) ?? '';
    await dialog(page).getByRole('button', { name: 'Copy key' }).click();
    await dialog(page).getByRole('button', { name: 'Done' }).click();
    await row(page, 'ruled').getByText('May 17, 2090').waitFor();
    await row(page, 'ruled').getByText('1 model').waitFor();
    expect((await ask(stage.service, key, { model })).status).toBe(403);
    const allowed = await ask(stage.service, key, { model: 'acme/plain' });
    expect(allowed.status).toBe(200);
    expect(allowed.headers.get('x-ratelimit-limit-requests')).toBe('7');
    const [made] = (await api(page, '/keys')).data;
    // A program may end a key within a day. The field shows the day; to choose it again changes nothing.
    const expires_at = '2090-05-17T13:00:00.000Z';
    expect((await page.request.patch(`/v1/keys/${made.id}`, { data: { expires_at } })).status()).toBe(200);
    await page.reload();
    await choose(page, 'ruled', 'Change');
    await dialog(page).getByText('Expiry, models and rate limits').click();
    expect(await day.inputValue()).toBe('2090-05-17');
    for (const chosen of ['2090-05-18', '2090-05-17']) await day.fill(chosen);
    await dialog(page).getByRole('checkbox', { name: 'acme/plain' }).uncheck();
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await dialog(page).waitFor({ state: 'hidden' });
    const [changed] = (await api(page, '/keys')).data;
    expect(changed).toMatchObject({ expires_at, requests_per_minute: 7, allowed_models: null });
    expect((await ask(stage.service, key, { model })).status).toBe(200);
  });

  it('are revoked many at once after a confirmation that names each; hidden and unselected ones stay', async () => {
    const person = await stage.person();
    const page = await stage.open('/keys', { as: person });
    for (const name of ['alpha one', 'alpha two', 'alpha three', 'beta']) {
      const answer = await page.request.post('/v1/keys', { data: { name, kind: 'inference' } });
      expect(answer.status()).toBe(201);
    }
    await page.reload();
    await page.getByRole('checkbox', { name: 'Select all 4' }).check();
    await page.getByText('4 keys selected').waitFor();
    await page.getByRole('checkbox', { name: 'Select alpha three' }).uncheck();
    await page.getByRole('searchbox', { name: 'Filter by name, tag or owner' }).fill('alpha');
    await row(page, 'beta').waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Revoke 2 keys' }).click();
    const question = page.getByRole('alertdialog');
    expect(
      (await question.getByRole('listitem').allTextContents()).map((text) => text.split('sotto')[0]).sort(),
    ).toEqual(['alpha one', 'alpha two']);
    await expectAccessible(page);
    await keepPicture(page, 'keys-revoke-many');
    await question.getByRole('button', { name: 'Revoke 2 keys' }).click();
    await row(page, 'alpha one').waitFor({ state: 'hidden' });
    await question.waitFor({ state: 'hidden' });
    const { data } = await api(page, '/keys');
    const working = data.filter((key: { revoked_at: string | null }) => key.revoked_at === null);
    expect(working.map(({ name }: { name: string }) => name).sort()).toEqual(['alpha three', 'beta']);
  });

  it('are shown in pages, sorted across them, found by owner, and show the monthly limit beside the total', async () => {
    const person = await stage.person();
    const page = await stage.open('/keys', { as: person });
    await stage.service.pool.query(
      `insert into api_keys (id, account_id, workspace_id, kind, name, hash, preview, created_by, spent_nusd, credit_limit_nusd, created_at)
       select gen_random_uuid(), account_id, id, 'inference', 'key ' || n, gen_random_uuid()::text, 'sotto_inf_…' || n, account_id,
         n * 10000000, 2000000000, now() - n * interval '1 hour'
       from workspaces, generate_series(1, 200) n where account_id = $1 and is_default`,
      [person.accountId],
    );
    const [first] = (await api(page, '/keys')).data;
    const budget = await page.context().request.put(`/v1/workspaces/${first.workspace_id}/budgets`, {
      data: { key_id: first.id, limit_usd: 3 },
    });
    expect(budget.status()).toBe(200);
    await page.reload();
    const rows = page.getByRole('table', { name: 'Keys' }).locator('tbody tr');
    const height = () => page.evaluate<number>('document.documentElement.scrollHeight');
    await page.getByText('1 to 25 of 200').waitFor();
    expect(await height()).toBeLessThan(3000);
    const seen = new Set<string>();
    for (let from = 1; from <= 200; from += 25) {
      await page.getByText(`${from} to ${from + 24} of 200`).waitFor();
      for (const text of await rows.allTextContents()) seen.add(/key \d+/.exec(text)?.[0] ?? '');
      if (from < 176) await page.getByRole('button', { name: 'Next', exact: true }).click();
    }
    expect(seen.size).toBe(200);
    expect(await page.getByRole('button', { name: 'Next', exact: true }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Previous', exact: true }).click();
    await page.getByText('151 to 175 of 200').waitFor();
    await page.getByRole('button', { name: 'Spent' }).click();
    await page.getByRole('button', { name: 'Spent' }).click();
    await page.getByText('1 to 25 of 200').waitFor();
    await expect.poll(() => rows.first().textContent()).toContain('key 200');
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await height()).toBeLessThan(8000);
    await page.setViewportSize({ width: 1280, height: 900 });
    // A page that a filter leaves empty shows the last one that there is.
    await page.getByRole('button', { name: 'Next', exact: true }).click();
    await page.getByRole('searchbox', { name: 'Filter by name, tag or owner' }).fill('YOU');
    await page.getByText('26 to 50 of 200').waitFor();
    await page.getByRole('searchbox', { name: 'Filter by name, tag or owner' }).fill(first.name);
    await expect.poll(() => rows.count()).toBe(1);
    expect(await rows.first().textContent()).toContain('of $3.00');
    await expectAccessible(page);
  });

  it('for management are created by owners, and open balance and usage only', async () => {
    const page = await stage.open('/keys', { as: await stage.person() });
    await openDialog(page);
    await dialog(page).getByLabel('Name').fill('books');
    await dialog(page)
      .getByRole('radio', { name: /Management/ })
      .check();
    expect(await dialog(page).getByLabel('Limit ($)').count()).toBe(0);
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    const key = (await dialog(page).getByTestId('new-key').textContent()) ?? '';
    expect(key).toMatch(/^sotto_mgt_/);
    const balance = await fetch(`${stage.service.controlUrl}/balance`, { headers: { authorization: `Bearer ${key}` } });
    expect(await balance.json()).toMatchObject({ available: 10 });
    expect((await ask(stage.service, key, { model })).status).toBe(403);
  });

  it('offer each role its own actions, and no more', async () => {
    const [owner, member, viewer] = [await stage.person(), await stage.person(), await stage.person()];
    await join(stage, owner, member, 'member');
    await join(stage, owner, viewer, 'viewer');
    const ownersPage = await stage.open('/keys', { as: owner });
    await makeKey(ownersPage, 'of the owner');

    const page = await stage.open('/keys', { as: member });
    await visit(page);
    await row(page, 'of the owner').waitFor();
    await row(page, 'of the owner').getByText(owner.email).waitFor();
    await openDialog(page);
    expect(await dialog(page).getByRole('radio').count()).toBe(0);
    await page.keyboard.press('Escape');
    await makeKey(page, 'of the member');
    await row(page, 'of the member').getByText('you', { exact: true }).waitFor();
    const actions = async (name: string): Promise<string[]> => {
      await page.getByRole('button', { name: `Actions for ${name}` }).click();
      const offered = await page.getByRole('menuitem').allTextContents();
      await page.keyboard.press('Escape');
      return offered;
    };
    expect(await actions('of the owner')).toEqual(['Its usage']);
    expect(await actions('of the member')).toEqual(['Change', 'Rotate', 'Disable', 'Its usage', 'Revoke']);

    const viewersPage = await stage.open('/keys', { as: viewer });
    await visit(viewersPage);
    await viewersPage.getByText('Your role here is viewer').waitFor();
    await row(viewersPage, 'of the owner').waitFor();
    expect(await viewersPage.getByRole('button', { name: 'Create key' }).count()).toBe(0);

    // If the role was taken away meanwhile, the page shows the service's own error.
    await openDialog(page);
    await dialog(page).getByLabel('Name').fill('too late');
    await stage.service.pool.query("update workspace_members set role = 'viewer' where account_id = $1", [
      member.accountId,
    ]);
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    await dialog(page).getByRole('alert').getByText('yours is `viewer`').waitFor();
    expect(await dialog(page).getByLabel('Name').inputValue()).toBe('too late');
  });

  keyLooks(stage);
});
