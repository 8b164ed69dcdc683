import { expect, it } from 'vitest';
import { thoroughly } from '../../kit/thoroughly.ts';
import { keyPolicy } from './key-policy.suite.ts';
import {
  accept,
  createKey,
  createWorkspace,
  describeDashboard,
  expectAccessible,
  expectGoodLooks,
  invite,
} from './stage.ts';

await describeDashboard('workspaces', (stage) => {
  it('are created, renamed, switched to and deleted', async () => {
    const page = await stage.open('/workspaces', { as: await stage.person() });
    await page.getByRole('button', { name: 'New workspace' }).click();
    await page.getByLabel('Name').fill('Research');
    await page.getByRole('button', { name: 'Create workspace' }).click();
    await page.getByRole('heading', { level: 1, name: 'Research' }).waitFor();
    await page.getByRole('button', { name: 'Workspace: Research' }).waitFor();
    await page.getByLabel('Workspace name').fill('Research and play');
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('heading', { level: 1, name: 'Research and play' }).waitFor();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { level: 1, name: 'Workspaces' }).waitFor();
    await page.getByRole('button', { name: 'Workspace: Default Workspace' }).waitFor();
    expect(await page.getByText('Research and play').count()).toBe(0);
  });

  it('add people by invitation, change their roles, and remove them', async () => {
    const [owner, guest] = [await stage.person(), await stage.person(0)];
    const page = await stage.open('/workspaces', { as: owner });
    await page.getByRole('button', { name: 'New workspace' }).click();
    await page.getByLabel('Name').fill('Together');
    await page.getByRole('button', { name: 'Create workspace' }).click();
    await page.getByLabel('Email').fill(guest.email);
    await page.getByLabel('Role', { exact: true }).selectOption('member');
    await page.getByRole('button', { name: 'Invite' }).click();
    const link = (await page.getByTestId('invitation-link').textContent()) ?? '';
    const token = decodeURIComponent(link.split('#token=')[1] ?? '');
    await page.getByRole('table', { name: 'Open invitations' }).getByText(guest.email, { exact: true }).waitFor();

    const theirs = await stage.open('/workspaces', { as: guest });
    await accept(theirs, token);
    await theirs.reload();
    // Two workspaces may have the same name, so the menu says whose the other one is.
    await theirs.getByRole('button', { name: /^Workspace:/ }).click();
    await theirs.getByRole('menuitem', { name: `Together ${owner.email}` }).waitFor();
    await theirs.keyboard.press('Escape');
    await theirs.getByRole('link', { name: 'Together' }).click();
    await theirs.getByText('Your role: member.').waitFor();
    expect(await theirs.getByRole('heading', { name: 'Invitations' }).count()).toBe(0);
    expect(await theirs.getByRole('button', { name: 'Rename' }).count()).toBe(0);

    await page.reload();
    await page.getByLabel(`Role of ${guest.email}`).selectOption('admin');
    await page.waitForResponse((answer) => answer.url().includes('/members?') && answer.ok());
    await theirs.reload();
    await theirs.getByRole('heading', { name: 'Invitations' }).waitFor();

    // A viewer has no keys. The list of keys that was just shown must not call them active.
    await createKey(theirs, { name: 'of the guest', workspace_id: page.url().split('/').at(-1) });
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await page.getByRole('table', { name: 'Keys' }).getByText('of the guest').waitFor();
    await page.goBack();
    const listed = page.waitForResponse((answer) => answer.url().includes('/members?') && answer.ok());
    await page.getByLabel(`Role of ${guest.email}`).selectOption('viewer');
    await listed;
    await page.goForward();
    await page.getByRole('switch', { name: 'Show revoked and expired (1)' }).waitFor();
    await page.goBack();

    await page.getByRole('button', { name: `Remove ${guest.email}` }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('alertdialog').waitFor({ state: 'hidden' });
    await theirs.reload();
    await theirs.getByText('Workspace not found').waitFor();
  });

  it('bound all keys by a policy that members read, and say which member is disabled', async () => {
    const [owner, guest] = [await stage.person(), await stage.person(0)];
    const page = await stage.open('/workspaces', { as: owner });
    const id = await createWorkspace(page, 'Bounded');
    const theirs = await stage.open('/workspaces', { as: guest });
    await accept(theirs, await invite(page, id, guest.email, 'member'));
    await page.goto(`/workspaces/${id}`);
    const save = page.getByRole('button', { name: 'Save policy' });
    await page.getByLabel('Allowed models').fill('acme/s*\nacmee/*');
    await page.getByLabel('Largest limit of a key ($)').fill('20');
    await page.getByLabel('Days until a key expires').fill('0');
    await page.getByLabel('Keys may work with any OpenAI client').uncheck();
    await save.click();
    await page.getByText('Enter whole days from 1 to 3,650').waitFor();
    await page.getByLabel('Days until a key expires').fill('90');
    await save.click();
    await page.getByText('which no model of this deployment matches').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Allowed models').fill('acme/s*');
    await save.click();
    await page.getByText('The policy is saved.').first().waitFor();
    await theirs.goto(`/workspaces/${id}`);
    for (const fact of ['acme/s*', '$20.00', '90 days', 'Not allowed: tickets only'])
      await theirs.getByText(fact, { exact: true }).waitFor();
    expect(await theirs.getByRole('button', { name: 'Save policy' }).count()).toBe(0);
    // Emptied fields bound nothing.
    await page.getByLabel('Allowed models').fill('');
    await page.getByLabel('Largest limit of a key ($)').fill('');
    await page.getByLabel('Days until a key expires').fill('');
    const saved = page.waitForResponse((answer) => answer.url().endsWith('/policy') && answer.ok());
    await save.click();
    await saved;
    await theirs.reload();
    await theirs.getByText('All', { exact: true }).waitFor();

    await stage.service.pool.query('update accounts set disabled_at = now() where id = $1', [guest.accountId]);
    await page.reload();
    await page.getByRole('row', { name: guest.email }).getByText('Disabled').waitFor();
    expect(await page.getByRole('row', { name: owner.email }).getByText('Disabled').count()).toBe(0);
  });

  it('add many people by one list, and say who could not be invited', async () => {
    const [owner, guest] = [await stage.person(), await stage.person(0)];
    const page = await stage.open('/workspaces', { as: owner });
    const id = await createWorkspace(page, 'Many');
    await page.goto(`/workspaces/${id}`);
    const list = page.getByLabel('Email');
    // Enter sends one line, and in a list begins the next. Ctrl and Enter send both.
    await list.fill('cat@many.example');
    await list.press('Enter');
    await page.getByText('cat@many.example is invited as member.').waitFor();
    await list.fill('dee@many.example');
    await list.press('Shift+Enter');
    await list.pressSequentially('eve@many.example');
    await list.press('Enter');
    await list.pressSequentially('nobody');
    await list.press('Control+Enter');
    expect(await list.inputValue()).toBe('dee@many.example\neve@many.example\nnobody');
    await list.fill('dee@many.example\neve@many.example');
    await list.press('Control+Enter');
    await page.getByText('2 invited.').waitFor();
    await list.fill(`Ann <ann@many.example>\nnobody\n${guest.email}`);
    await page.getByText('Not an address: nobody.').waitFor();
    expect(await page.getByRole('button', { name: /^Invite/ }).isDisabled()).toBe(true);
    // The workspace is offered to one person only.
    expect(await page.getByLabel('Role', { exact: true }).locator('option').count()).toBe(3);
    await list.fill(`Ann <ann@many.example>\n${guest.email}, ${owner.email}`);
    await page.getByRole('button', { name: 'Invite 3 people' }).click();
    await page.getByText('2 invited, 1 not.').waitFor();
    expect(await list.inputValue()).toBe(owner.email);
    expect(await page.getByLabel('Role', { exact: true }).locator('option').count()).toBe(4);
    await page.getByRole('listitem').filter({ hasText: owner.email }).getByText('in the workspace already').waitFor();
    const open = page.getByRole('table', { name: 'Open invitations' });
    for (const email of ['ann@many.example', guest.email]) await open.getByText(email, { exact: true }).waitFor();
    await expectAccessible(page);
    await expectGoodLooks(stage, {
      ...{ name: 'invite-many', path: `/workspaces/${id}`, as: owner, widths: [390, 1440] },
      async shown(shown) {
        await shown.getByLabel('Email').fill('ann@many.example\nben@many.example');
        await shown.getByRole('button', { name: 'Invite 2 people' }).waitFor();
      },
    });
  });

  it('can be left by an invited person', async () => {
    const [owner, guest] = [await stage.person(), await stage.person(0)];
    const page = await stage.open('/workspaces', { as: owner });
    const id = await createWorkspace(page, 'Short');
    const token = await invite(page, id, guest.email, 'viewer');
    const theirs = await stage.open('/workspaces', { as: guest });
    await accept(theirs, token);
    await theirs.goto(`/workspaces/${id}`);
    await theirs.getByRole('button', { name: 'Leave…' }).click();
    await theirs.getByRole('alertdialog').getByRole('button', { name: 'Leave' }).click();
    await theirs.getByText('You have left the workspace.').first().waitFor();
    expect(await theirs.getByRole('link', { name: 'Short' }).count()).toBe(0);
  });

  it('show many members in pages, with each role in full', async () => {
    const owner = await stage.person();
    await stage.service.pool.query(
      `with people as (
         insert into auth_user (id, name, email, email_verified)
         select gen_random_uuid(), 'x', n || '.' || $1, true from generate_series(1, 60) n returning id
       ), joined as (
         insert into accounts (id, user_id, name, wallet_id)
         select gen_random_uuid(), id, 'x', gen_random_uuid()::text from people returning id
       )
       insert into workspace_members (workspace_id, account_id, role)
       select w.id, joined.id, 'member' from joined, workspaces w where w.account_id = $2 and w.is_default`,
      [owner.email, owner.accountId],
    );
    const page = await stage.open('/workspaces', { as: owner });
    await page.getByRole('link', { name: 'Default Workspace' }).click();
    await page.getByText('1 to 25 of 61').waitFor();
    const role = page.getByRole('combobox', { name: /^Role of/ }).first();
    // The value, with the paddings and the arrow.
    expect((await role.boundingBox())?.width).toBeGreaterThan(100);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('26 to 50 of 61').waitFor();
  });

  keyPolicy(stage);

  thoroughly('look well', async () => {
    const person = await stage.person();
    const page = await stage.open('/workspaces', { as: person });
    const id = await createWorkspace(page, 'A workspace with quite a long name');
    await invite(page, id, 'a.rather.long.address@department.of.an.example', 'admin');
    await expectGoodLooks(stage, {
      name: 'workspaces',
      path: '/workspaces',
      as: person,
      shown: (open) => open.getByText('Current workspace').waitFor(),
    });
    const policy = { allowed_models: ['acme/*'], max_key_limit_usd: 20, max_key_days: 90, openai_compatible: false };
    await page.request.put(`/v1/workspaces/${id}/policy`, { data: policy });
    await expectGoodLooks(stage, {
      name: 'workspace',
      path: `/workspaces/${id}`,
      as: person,
      widths: [390, 1440],
      shown: (open) => open.getByText('a.rather.long.address@department.of.an.example', { exact: true }).waitFor(),
    });
  });
});
