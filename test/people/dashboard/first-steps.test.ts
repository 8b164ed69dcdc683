import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { agents } from '@sotto/client/testing';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { useFolder } from '../../kit/folder.ts';
import { thoroughly } from '../../kit/thoroughly.ts';
import {
  accept,
  createWorkspace,
  describeDashboard,
  expectAccessible,
  expectGoodLooks,
  heading,
  invite,
  keepPicture,
  shell,
} from './stage.ts';

/** The code in the tab that is shown. */
const shownCode = async (page: Page): Promise<string> =>
  (await page.getByRole('tabpanel').locator('pre').textContent()) ?? '';

const folder = useFolder('first-steps');

await describeDashboard('first steps', (stage) => {
  it('lead from the sign-up page to a private answer in five clicks', async () => {
    const page = await stage.open('/sign-up');
    await page.exposeFunction('countClick', () => {
      clicks += 1;
    });
    let clicks = 0;
    await page.evaluate("addEventListener('click', (event) => event.isTrusted && countClick(), true)");
    const startedAt = performance.now();
    await page.getByLabel('Name').fill('Ann Walker');
    await page.getByLabel('Email').fill('six-clicks@people.example');
    await page.getByLabel('Password').fill('correct horse battery');
    await keepPicture(page, 'walk-1-sign-up');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('heading', { level: 2, name: '1. Add funds' }).waitFor();
    await keepPicture(page, 'walk-2-first-steps');
    await page.getByRole('link', { name: 'Add funds' }).click();
    await page.getByRole('button', { name: /^Pay \$/ }).waitFor();
    await keepPicture(page, 'walk-3-billing');
    await page.getByRole('button', { name: /^Pay \$/ }).click();
    await page.getByText(/^Paid: .* is in your balance\.$/).waitFor();
    await page.getByRole('link', { name: 'Ask a question' }).click();
    await page.getByLabel('Your question').fill('Hello');
    // Only a broker without hardware asks this, so it does not count.
    await page.getByLabel('Continue with simulated evidence', { exact: false }).check();
    clicks -= 1;
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Hello there, this is a provider.').waitFor();
    await page.getByRole('figure', { name: 'Privacy receipt' }).waitFor();
    await keepPicture(page, 'walk-4-answer');
    expect(clicks).toBeLessThanOrEqual(5);
    console.info(
      `a private answer after ${clicks} clicks and ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
    );
  });

  it('lead from a key to an answer: both printed commands work as they are', async () => {
    const page = await stage.open('/', { as: await stage.person() });
    await page.getByRole('button', { name: 'Create key' }).click();
    const key = await page.getByTestId('new-key').textContent();
    expect(key).toMatch(/^sotto_inf_/);
    const command = await shownCode(page);
    expect(command).toContain(key);
    expect(JSON.parse(await shell(command))).toMatchObject({ object: 'chat.completion' });
    await page.getByRole('tab', { name: 'curl, private' }).click();
    expect(JSON.parse(await shell(await shownCode(page)))).toMatchObject({ object: 'chat.completion' });
  });

  it('wait for the first request and show what it cost, without a reload; then comes the overview', async () => {
    const page = await stage.open('/', { as: await stage.person() });
    await page.getByText('Waiting for your first request…').waitFor();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByTestId('new-key').waitFor();
    const { usage } = JSON.parse(await shell(await shownCode(page))) as { usage: { cost: number } };
    const received = page.getByRole('status').filter({ hasText: 'Received' });
    expect(await received.textContent()).toContain(`Received, $${usage.cost}`);
    expect(await received.textContent()).toContain('acme/small at acme, 30 tokens');
    // The key is shown once, so it stays until the reader goes on.
    await page.getByTestId('new-key').waitFor();
    await expectAccessible(page);
    await keepPicture(page, 'first-request');
    await page.getByRole('button', { name: 'See your overview' }).click();
    await page.getByRole('heading', heading('Overview')).waitFor();
    await page.reload();
    await page.getByRole('heading', heading('Overview')).waitFor();
    await page.getByRole('link', { name: 'First steps' }).click();
    // The tab still has its key, and so does the playground.
    await page.getByTestId('new-key').waitFor();
    await page.getByRole('link', { name: 'Playground' }).first().click();
    await page.getByText('Created for this tab.').waitFor();
    const { data } = (await (await page.request.get('/v1/keys')).json()) as { data: unknown[] };
    expect(data).toHaveLength(1);
    const other = await page.context().newPage();
    await other.goto('/first-steps');
    await other.getByText('Waiting for your next request…').waitFor();
  });

  it('run a coding agent by the printed commands, as they are', async () => {
    const page = await stage.open('/', { as: await stage.person() });
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByTestId('new-key').waitFor();
    await page.getByRole('tab', { name: 'Claude Code' }).click();
    const main = fileURLToPath(new URL('../../../packages/client/src/command/main.ts', import.meta.url));
    const programs = {
      // `npm run -s sotto --` in a checkout.
      npm: `[ "$1" != run ] || { shift 4; exec sotto "$@"; }`,
      sotto: `exec '${process.execPath}' --conditions=@sotto/source '${main}' "$@"`,
      // Stands for Claude Code.
      claude: `exec curl -s "$ANTHROPIC_BASE_URL/v1/messages" -H "authorization: Bearer $ANTHROPIC_AUTH_TOKEN" \\
        -d "{\\"model\\":\\"$ANTHROPIC_MODEL\\",\\"max_tokens\\":50,\\"messages\\":[{\\"role\\":\\"user\\",\\"content\\":\\"Hello\\"}]}"`,
    };
    for (const [name, script] of Object.entries(programs))
      await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const answer = await shell(await shownCode(page), { PATH: `${folder}:${process.env.PATH ?? ''}`, TMPDIR: folder });
    expect(JSON.parse(answer)).toMatchObject({ type: 'message', role: 'assistant' });
  });

  it('have a command for each agent that sotto can run', async () => {
    const page = await stage.open('/', { as: await stage.person() });
    for (const [name, { install }] of Object.entries(agents)) {
      const tab = { claude: 'Claude Code', codex: 'Codex' }[name];
      await page.getByRole('tab', { name: tab ?? 'More tools' }).click();
      if (tab === undefined) await page.getByRole('combobox', { name: 'Tool' }).selectOption(name);
      expect(await shownCode(page)).toContain(`${install}\n`);
      expect(await shownCode(page)).toContain(`\nnpm run -s sotto -- run ${name} --model `);
    }
    await page.getByRole('tab', { name: 'Cursor' }).click();
    await page.getByText('Compatibility mode only').waitFor();
    await page.getByRole('tab', { name: 'AI SDK' }).click();
    expect(await shownCode(page)).toContain('createOpenAICompatible');
  });

  it('have tabs for the keyboard, and remember the tool, also on a phone', async () => {
    const page = await stage.open('/', { as: await stage.person(), width: 390 });
    await page.getByRole('tab', { name: 'curl, private' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('tab', { name: 'curl', exact: true, selected: true }).waitFor();
    await page.keyboard.press('End');
    await page.getByRole('combobox', { name: 'Tool' }).selectOption('Cline');
    await page.getByText('sotto -- run cline').first().waitFor();
    await page.reload();
    expect(await page.getByRole('combobox', { name: 'Tool' }).inputValue()).toBe('cline');
    const tab = page.getByRole('tab', { name: 'More tools', selected: true });
    await tab.waitFor();
    const { x = 0, width = 0 } = (await tab.boundingBox()) ?? {};
    expect(x).toBeGreaterThanOrEqual(0);
    expect(x + width).toBeLessThanOrEqual(390);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(390);
  });

  it('and the pages for requests report an empty balance to the person that it pays for', async () => {
    const poor = await stage.person(0);
    const page = await stage.open('/', { as: poor });
    await page.getByRole('heading', { level: 2, name: '1. Add funds' }).waitFor();
    expect(await page.getByRole('link', { name: 'Add funds' }).getAttribute('href')).toBe('/billing');
    await page.getByRole('heading', { level: 2, name: '3. Your first request' }).waitFor();
    for (const path of ['/playground', '/keys']) {
      await page.goto(path);
      await page.getByText('requests are rejected until you').waitFor();
      expect(await page.getByRole('link', { name: 'top up' }).getAttribute('href')).toBe('/billing');
    }
    await page.getByRole('link', { name: 'Balance, empty: $0.00' }).click();
    await page.getByText('Your balance is empty, so requests are rejected. Top up to continue.').waitFor();
  });

  it('tell a viewer that their role creates no keys, and show no balance of another person', async () => {
    const viewer = await stage.person(0);
    const owner = await stage.open('/', { as: await stage.person() });
    const id = await createWorkspace(owner, 'Shared');
    const token = await invite(owner, id, viewer.email, 'viewer');
    const page = await stage.open('/', { as: viewer });
    await accept(page, token);
    await page.reload();
    await page.getByRole('button', { name: /^Workspace/ }).click();
    await page.getByRole('menuitem', { name: 'Shared' }).click();
    await page.getByText('Your role in Shared is viewer, which cannot create keys.').waitFor();
    expect(await page.getByRole('button', { name: 'Create key' }).count()).toBe(0);
    expect(await page.getByText('requests are rejected until you').count()).toBe(0);
  });

  it('close the menu of a phone after navigation', async () => {
    const page = await stage.open('/keys', { as: await stage.person(), width: 360 });
    await page.getByRole('button', { name: 'Open the menu' }).click();
    await page.getByRole('dialog').getByRole('link', { name: 'Sotto' }).click();
    await page.getByRole('heading', heading('First steps')).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  });

  it('are open to signed-in people; others see an introduction, sign in, and come back', async () => {
    const person = await stage.person();
    const page = await stage.open('/');
    await page.getByRole('heading', heading(/keeps your identity separate/)).waitFor();
    await page.goto('/sign-in?return_to=%2F%2Fevil.example');
    await page.getByLabel('Email').fill(person.email);
    await page.getByLabel('Password').fill('wrong password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Password').fill(person.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', heading('First steps')).waitFor();
    expect(new URL(page.url()).origin).toBe(stage.origin);
  });

  thoroughly('look well', async () => {
    const person = await stage.person();
    await expectGoodLooks(stage, {
      name: 'welcome',
      path: '/',
      shown: (page) => page.getByRole('heading', heading(/keeps your identity separate/)).waitFor(),
    });
    await expectGoodLooks(stage, {
      name: 'first-steps',
      path: '/',
      as: person,
      shown: async (page) => {
        await page.getByText('$10.00').first().waitFor();
        await page.getByRole('button', { name: 'Create key' }).waitFor();
      },
    });
    await expectGoodLooks(stage, {
      name: 'not-found',
      path: '/nowhere',
      shown: (page) => page.getByRole('heading', heading('No such page')).waitFor(),
    });
  });
});
