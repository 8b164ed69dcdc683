import type { Page } from 'playwright-core';
import type { SignedUp } from '../../kit/signed-up.ts';
import type { Stage } from './stage.ts';

/** What tests do on the page of keys. */

export const row = (page: Page, name: string) =>
  page.getByRole('table', { name: 'Keys' }).locator('tbody tr', { hasText: name });
export const dialog = (page: Page) => page.getByRole('dialog');
export const api = async (page: Page, path: string) => (await page.request.get(`/v1${path}`)).json();

export async function openDialog(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Create key' }).first().click();
  await dialog(page).getByLabel('Name').waitFor();
}

/** Creates a key through the page. Resolves to its secret. */
export async function makeKey(page: Page, name: string, { limit = '' } = {}): Promise<string> {
  await openDialog(page);
  await dialog(page).getByLabel('Name').fill(name);
  await dialog(page).getByLabel('Limit ($)').fill(limit);
  await dialog(page).getByRole('button', { name: 'Create key' }).click();
  const key = (await dialog(page).getByTestId('new-key').textContent()) ?? '';
  // A first request to copy has the key.
  await dialog(page)
    .getByRole('figure')
    .filter({ hasText: `authorization: Bearer ${key}` })
    .waitFor();
  await dialog(page).getByText('OpenAI base URL: http').waitFor();
  await dialog(page).getByRole('button', { name: 'Copy key' }).click();
  await dialog(page).getByText('Copied').waitFor();
  await dialog(page).getByRole('button', { name: 'Done' }).click();
  await dialog(page).waitFor({ state: 'hidden' });
  return key;
}

export async function choose(page: Page, name: string, action: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${name}` }).click();
  await page.getByRole('menuitem', { name: action }).click();
}

/** Adds a person to the default workspace of another, directly in the database. Invitations have their own tests. */
export async function join(stage: Stage, owner: SignedUp, member: SignedUp, role: string): Promise<void> {
  await stage.service.pool.query(
    `insert into workspace_members (workspace_id, account_id, role)
     select id, $2, $3 from workspaces where account_id = $1 and is_default`,
    [owner.accountId, member.accountId, role],
  );
}

/** Chooses the other person's workspace. */
export async function visit(page: Page): Promise<void> {
  const { data } = await api(page, '/workspaces');
  const own = data.find(({ is_default }: { is_default: boolean }) => !is_default);
  await page.evaluate(`localStorage.setItem('sotto.workspace', ${JSON.stringify(own?.id)})`);
  await page.reload();
}
