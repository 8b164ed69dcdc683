import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { ask } from '../../kit/client.ts';
import { expectError } from '../../kit/expect-error.ts';
import type { SignedUp } from '../../kit/signed-up.ts';
import { thoroughly } from '../../kit/thoroughly.ts';
import { createKey, createWorkspace, describeDashboard, expectGoodLooks, type Stage } from './stage.ts';

await describeDashboard('routing', (stage) => {
  it('a change shows in the preview before it is saved, is saved, and the next request obeys it', async () => {
    const ann = await stage.person();
    const page = await stage.open('/routing?model=acme/wide', { as: ann });
    const plan = page.getByRole('list').filter({ has: page.getByText('vault') });
    await plan.first().waitFor();
    await page.getByRole('radio', { name: /^Price/ }).check();
    await page.getByText('1 setting is not saved').waitFor();
    await page.getByText('privacy floor', { exact: true }).waitFor();
    await page
      .getByRole('checkbox', { name: 'acme', exact: true })
      .or(page.getByLabel(/^acme(?!\/)/))
      .first()
      .uncheck();
    await page.getByText('2 settings are not saved').waitFor();
    await page.getByText('disabled', { exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved. It applies from the next request.').first().waitFor();
    expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0);

    const { key } = await createKey(page, { name: 'routing' });
    expectError(await ask(stage.service, key, { model: 'acme/small' }), 400, 'no_provider_route');
  });

  it('explains why a request would be refused, and reads the request from the address', async () => {
    const page = await stage.open('/routing?model=beta/chat&minimum_privacy=tee&prompt_tokens=7', {
      as: await stage.person(),
    });
    await page.getByText('Request rejected').waitFor();
    await page.getByText('no_provider_route_meets_privacy').waitFor();
    expect(await page.getByLabel('Prompt tokens').inputValue()).toBe('7');
    await page.getByLabel('Requested privacy').selectOption('None');
    await page.getByText('Tried in this order').waitFor();
    expect(page.url()).not.toContain('minimum_privacy');
    // Finds a model by a part of its name, with the keyboard alone.
    await page.getByRole('combobox', { name: 'Model' }).click();
    await page.getByRole('combobox', { name: 'Model' }).fill('thin');
    await page.keyboard.press('Enter');
    await page.waitForURL(/model=(%2F|\/)?acme(%2F|\/)thinker/);
    await page.getByText('$0.50 in · $1.50 out per million tokens').waitFor();
  });

  it('a boundary raises choices that would be below it, and closes those choices', async () => {
    const page = await stage.open('/routing', { as: await stage.person() });
    await page.getByLabel('Weakest tier for fallback').selectOption('Down to Anonymous');
    await page.getByRole('group', { name: 'Privacy boundary' }).getByLabel('TEE or stronger').check();
    expect(await page.getByLabel('Weakest tier for fallback').inputValue()).toBe('tee');
    expect(await page.getByRole('option', { name: 'Down to Private' }).isDisabled()).toBe(true);
    const allowed = page.getByRole('group', { name: 'Allowed tiers' });
    expect(await allowed.getByLabel('TEE or stronger').isChecked()).toBe(true);
    expect(await allowed.getByLabel('Anonymous or stronger').isDisabled()).toBe(true);
    await page.getByText(/^1 of \d+ models that have a provider/).waitFor();
    await page.getByLabel('Allow fallback to another provider').click();
    expect(await page.getByText('Retries on another provider').count()).toBe(0);
  });

  it('drops no unsaved change without asking, in the page and across workspaces', async () => {
    const ann = await stage.person();
    const page = await stage.open('/routing', { as: ann });
    await page.getByLabel('Input', { exact: true }).fill('1.5');
    await page.getByText('1 setting is not saved').waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('alertdialog').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await page.getByLabel('Input', { exact: true }).inputValue()).toBe('1.5');
    await page.getByLabel('Input', { exact: true }).fill('1,5');
    await page
      .getByText(/^Enter \$ per million tokens/)
      .first()
      .waitFor();
    await page.getByText('Correct the marked fields to save').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    expect(await saved(page)).toMatchObject({ max_price: null });
    await page.getByRole('button', { name: 'Discard' }).click();
    expect(await page.getByLabel('Input', { exact: true }).inputValue()).toBe('');
    await page.getByLabel('Input', { exact: true }).fill('2');
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('heading', { level: 1, name: 'First steps' }).waitFor();
    expect(await saved(page)).toMatchObject({ max_price: null });
  });

  it("keeps another person's changes saved meanwhile, and the typed values if the service refuses", async () => {
    const ann = await stage.person();
    const page = await stage.open('/routing', { as: ann });
    await page.getByLabel('Output', { exact: true }).fill('9');
    await put(page, { ...(await saved(page)), provider_ignore: ['beta'] });
    await page.route('**/v1/routing/preferences*', async (route) => {
      if (route.request().method() !== 'PUT') return route.fallback();
      const error = { message: 'Not `now`.', type: 'service_unavailable', request_id: 'req_test' };
      await route.fulfill({ status: 503, json: { error } });
    });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Not now. (request req_test)').waitFor();
    expect(await page.getByLabel('Output', { exact: true }).inputValue()).toBe('9');
    await page.unroute('**/v1/routing/preferences*');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved. It applies from the next request.').first().waitFor();
    expect(await saved(page)).toMatchObject({ provider_ignore: ['beta'], max_price: { output: 9 } });
  });

  it('a viewer reads, and changes nothing', async () => {
    const viewer = await shared(stage, 'viewer');
    const page = await stage.open('/routing?model=acme/small', { as: viewer });
    await page.getByRole('button', { name: /Workspace/ }).click();
    await page.getByRole('menuitem', { name: 'Shared' }).click();
    await page.getByText(/takes the role admin in this workspace; yours is viewer/).waitFor();
    expect(await page.getByRole('group', { name: 'Privacy boundary' }).getByLabel('TEE or stronger').isDisabled()).toBe(
      true,
    );
    await page.getByText('Tried in this order').waitFor();
  });

  it('says that it could not load, and loads again', async () => {
    const page = await stage.open('/', { as: await stage.person() });
    const error = { message: 'Not today.', type: 'internal_error', request_id: 'req_test' };
    await page.route('**/v1/routing/preferences*', (route) => route.fulfill({ status: 500, json: { error } }));
    await page.goto('/routing');
    await page.getByText('Not today.').waitFor();
    await page.getByText('Request req_test').waitFor();
    await page.unroute('**/v1/routing/preferences*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Preview' }).waitFor();
  });

  thoroughly('looks well', async () => {
    // Each look signs in four times, which is close to the limit for one person.
    await expectGoodLooks(stage, {
      name: 'routing',
      path: '/routing?model=acme/wide',
      as: await stage.person(),
      shown: (page) => page.getByRole('heading', { name: 'Left out' }).waitFor(),
    });
    await expectGoodLooks(stage, {
      name: 'routing-changed',
      path: '/routing?model=/auto&minimum_privacy=e2ee',
      as: await stage.person(),
      shown: async (page) => {
        await page.getByRole('group', { name: 'Allowed models' }).getByLabel('Only these').check();
        await page.getByText('Request rejected').waitFor();
      },
    });
    await expectGoodLooks(stage, {
      name: 'routing-leave',
      path: '/routing',
      as: await stage.person(),
      shown: async (page) => {
        await page.getByLabel('Input', { exact: true }).fill('2');
        await page.getByRole('link', { name: /^Balance/ }).click();
        await page.getByRole('alertdialog').waitFor();
      },
    });
  });
});

const saved = (page: Page): Promise<Record<string, unknown>> =>
  page.evaluate("fetch('/v1/routing/preferences').then((answer) => answer.json())");

const put = (page: Page, preferences: object): Promise<unknown> =>
  page.evaluate(`fetch('/v1/routing/preferences', {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: ${JSON.stringify(JSON.stringify(preferences))},
  }).then(({ status }) => status)`);

/** A person in another person's workspace `Shared`. */
async function shared(stage: Stage, role: string): Promise<SignedUp> {
  const [owner, member] = [await stage.person(), await stage.person()];
  const { pool } = stage.service;
  const page = await stage.open('/', { as: owner });
  const id = await createWorkspace(page, 'Shared');
  const values = [id, member.accountId, role];
  await pool.query('insert into workspace_members (workspace_id, account_id, role) values ($1, $2, $3)', values);
  return member;
}
