import { expect, it } from 'vitest';
import { createWorkspace, type Stage } from './stage.ts';

/** The key that the first question creates. */
export function playgroundKeySuite(stage: Stage): void {
  it('creates its key within the policy of the workspace, and one for two questions at once', async () => {
    stage.reset();
    const person = await stage.person();
    const page = await stage.open('/verify', { as: person });
    const id = await createWorkspace(page, 'Strict');
    const policy = { allowed_models: null, max_key_limit_usd: 0.25, max_key_days: 1, openai_compatible: false };
    expect((await page.request.put(`/v1/workspaces/${id}/policy`, { data: policy })).status()).toBe(200);
    await page.evaluate(`localStorage.setItem('sotto.workspace', '${id}')`);
    await page.goto('/playground?model=acme/small&compare=beta/chat');
    await page.getByLabel('Continue with simulated evidence', { exact: false }).check();
    await page.getByLabel('Your question').fill('Same question');
    await page.getByRole('button', { name: 'Send' }).click();
    for (const model of ['acme/small', 'beta/chat']) {
      const lane = page.getByRole('region', { name: model });
      await lane.getByText('Same question').waitFor();
      await lane.getByText('Hello there, this is a provider.').waitFor();
      await lane.getByLabel('About this answer').waitFor();
    }
    const { data: made } = (await (await page.request.get(`/v1/keys?workspace_id=${id}`)).json()) as {
      data: unknown[];
    };
    expect(made).toMatchObject([{ name: 'Playground', credit_limit_usd: 0.25, openai_compatible: false }]);
    await page.getByRole('button', { name: 'Clear' }).click();
    expect(await page.getByText('Same question').count()).toBe(0);
  });

  it('creates another key after its own was revoked, and shows it to no program', async () => {
    stage.reset();
    const page = await stage.open('/playground?model=acme/small', { as: await stage.person() });
    await page.getByLabel('Continue with simulated evidence', { exact: false }).check();
    const send = async (text: string): Promise<void> => {
      await page.getByLabel('Your question').fill(text);
      await page.getByRole('button', { name: 'Send' }).click();
    };
    await send('First');
    await page.getByText('Hello there, this is a provider.').waitFor();
    const listed = async () => ((await (await page.request.get('/v1/keys')).json()) as { data: { id: string }[] }).data;
    const [{ id } = { id: '' }] = await listed();
    // In another tab, or by an admin.
    expect((await page.request.delete(`/v1/keys/${id}`)).status()).toBe(204);
    await send('Second');
    await page.getByText('invalid_api_key').waitFor();
    await page.getByRole('button', { name: 'Ask again' }).click();
    await page.getByText('Hello there, this is a provider.').nth(1).waitFor();
    expect(await listed()).toHaveLength(2);
    await page.goto('/first-steps');
    await page.getByRole('button', { name: 'Create key' }).waitFor();
    expect(await page.evaluate('Object.keys(sessionStorage).join()')).toContain('sotto.playground.key');
  });

  it('explains the allowed limits of its key, and keeps the typed value', async () => {
    const page = await stage.open('/playground', { as: await stage.person() });
    await page.getByText('Choose a key instead').click();
    const limit = page.getByLabel('Spending limit ($)');
    for (const typed of ['1e1', '0', '', '0x10']) {
      await limit.fill(typed);
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByText('An amount in $, such as 5 or 12.50.').waitFor();
      expect(await limit.inputValue()).toBe(typed);
    }
    await limit.fill(' $0.50 ');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('Created for this tab. It can spend $0.50 in total.').waitFor();
  });
}
