import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeDashboard } from './stage.ts';

/** Presses twice before the page can draw anything in between. */
const pressTwice = (button: Locator): Promise<void> =>
  button.evaluate((element: { click(): void }) => {
    element.click();
    element.click();
  });

/** Collects the bodies that the page posts to a path, from now on. */
function postsTo(page: Page, path: string): unknown[] {
  const posts: unknown[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST' && new URL(request.url()).pathname === path) posts.push(request.postDataJSON());
  });
  return posts;
}

await describeDashboard('pressed twice', (stage) => {
  const count = async (table: string, accountId: string): Promise<number> => {
    const { rows } = await stage.service.pool.query<{ count: string }>(
      `select count(*) from ${table} where account_id = $1`,
      [accountId],
    );
    return Number(rows[0]?.count);
  };

  it('pays once; pressed again after that, it pays again', async () => {
    const person = await stage.person(0);
    const page = await stage.open('/billing', { as: person });
    const posts = postsTo(page, '/v1/billing/orders');
    const pay = page.getByRole('button', { name: /^Pay/ });
    await pressTwice(pay);
    await page.getByText(/is in your balance/).waitFor();
    expect([posts.length, await count('orders', person.accountId), await count('receipts', person.accountId)]).toEqual([
      1, 1, 1,
    ]);
    await expect.poll(() => pay.isEnabled()).toBe(true);
    await pressTwice(pay);
    await expect.poll(() => count('receipts', person.accountId), { timeout: 20_000 }).toBe(2);
    expect(new Set(posts.map((body) => (body as { form_id: string }).form_id)).size).toBe(2);
    expect(posts).toHaveLength(2);
  });

  it('pays once if the answer was lost and it is pressed again, and again after another choice', async () => {
    const person = await stage.person(0);
    const page = await stage.open('/billing', { as: person });
    // Simulates a connection that breaks after the order was carried out.
    await page.evaluate(() => {
      const ask = globalThis.fetch;
      globalThis.fetch = async (...asked) => {
        const answer = await ask(...asked);
        if (!String(asked[0]).endsWith('/billing/orders') || asked[1]?.method !== 'POST') return answer;
        globalThis.fetch = ask;
        throw new TypeError('the answer is lost');
      };
    });
    const pay = page.getByRole('button', { name: /^Pay/ });
    await pay.click();
    await page.getByText('The service cannot be reached').waitFor();
    expect(await count('orders', person.accountId)).toBe(1);
    await pay.click();
    await page.getByText(/is in your balance/).waitFor();
    expect(await count('orders', person.accountId)).toBe(1);
    await page.getByText('$50.00', { exact: true }).click();
    await page.getByRole('button', { name: 'Pay $52.50' }).click();
    await expect.poll(() => count('orders', person.accountId), { timeout: 20_000 }).toBe(2);
  });

  it('creates one key', async () => {
    const person = await stage.person();
    const page = await stage.open('/keys', { as: person });
    const posts = postsTo(page, '/v1/keys');
    await page.getByRole('button', { name: 'Create key' }).first().click();
    await page.getByRole('dialog').getByLabel('Name').fill('Once');
    await pressTwice(page.getByRole('dialog').getByRole('button', { name: 'Create key' }));
    await page.getByRole('dialog').getByRole('button', { name: 'Copy key' }).waitFor();
    expect(posts).toHaveLength(1);
  });

  it('creates one workspace, and one invitation to it', async () => {
    const page = await stage.open('/workspaces', { as: await stage.person() });
    const workspaces = postsTo(page, '/v1/workspaces');
    await page.getByRole('button', { name: 'New workspace' }).click();
    await page.getByLabel('Name').fill('Once');
    await pressTwice(page.getByRole('button', { name: 'Create workspace' }));
    await page.getByRole('heading', { level: 1, name: 'Once' }).waitFor();
    expect(workspaces).toHaveLength(1);
    const invitations = postsTo(page, `/v1${new URL(page.url()).pathname}/invitations`);
    await page.getByLabel('Email').fill('guest@people.example');
    await pressTwice(page.getByRole('button', { name: 'Invite' }));
    await page.getByTestId('invitation-link').waitFor();
    expect(invitations).toHaveLength(1);
  });

  it('registers one app', async () => {
    const page = await stage.open('/apps?view=developer', { as: await stage.person(0) });
    const posts = postsTo(page, '/v1/connect/apps');
    await page.getByRole('button', { name: 'Register an app' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Once');
    await dialog.getByLabel('Homepage').fill('https://once.example');
    await dialog.getByLabel('Redirect URIs').fill('https://once.example/callback');
    await pressTwice(dialog.getByRole('button', { name: 'Register', exact: true }));
    await expect.poll(() => posts.length).toBe(1);
    await page.getByText('Once').first().waitFor();
    expect(posts).toHaveLength(1);
  });
});
