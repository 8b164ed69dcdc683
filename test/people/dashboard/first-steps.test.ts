import { execFile } from 'node:child_process';
import { expect, it } from 'vitest';
import { thoroughly } from '../../kit/thorough.ts';
import { describeDashboard, expectGoodLooks } from './stage.ts';

const shell = (command: string): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile('sh', ['-c', command], (error, stdout) => (error === null ? resolve(stdout) : reject(error)));
  });

await describeDashboard('first steps', (stage) => {
  it('lead from a key to an answer: both printed commands work as they stand', async () => {
    const page = await stage.open('/', { as: await stage.person() });
    await page.getByRole('button', { name: 'Make a key' }).click();
    const key = await page.getByTestId('new-key').textContent();
    expect(key).toMatch(/^sotto_inf_/);
    const shown = (): Promise<string> =>
      page
        .getByRole('tabpanel')
        .locator('pre')
        .textContent()
        .then((text) => text ?? '');
    const command = await shown();
    expect(command).toContain(key);
    expect(JSON.parse(await shell(command))).toMatchObject({ object: 'chat.completion' });
    await page.getByRole('tab', { name: 'curl, private' }).click();
    expect(JSON.parse(await shell(await shown()))).toMatchObject({ object: 'chat.completion' });
  });

  it('and the pages from which one asks say that a balance is empty, to whom it pays for', async () => {
    const poor = await stage.person(0);
    const page = await stage.open('/', { as: poor });
    for (const path of ['/', '/playground', '/keys']) {
      await page.goto(path);
      await page.getByText('they are refused until you').waitFor();
      expect(await page.getByRole('link', { name: 'top up' }).getAttribute('href')).toBe('/billing');
    }
    await page.getByRole('link', { name: 'Balance, empty: $0.00' }).click();
    await page.getByText('It is empty: requests are refused until you top up.').waitFor();
  });

  it('tell somebody who may only look that their role makes no keys, and nothing of a balance that is not theirs', async () => {
    const viewer = await stage.person(0);
    const owner = await stage.open('/', { as: await stage.person() });
    const { id } = (await (await owner.request.post('/v1/workspaces', { data: { name: 'Shared' } })).json()) as {
      id: string;
    };
    const invited = await owner.request.post(`/v1/workspaces/${id}/invitations`, {
      data: { email: viewer.email, role: 'viewer' },
    });
    const { token } = (await invited.json()) as { token: string };
    const page = await stage.open('/', { as: viewer });
    await page.request.post('/v1/invitations/accept', { data: { token } });
    await page.reload();
    await page.getByRole('button', { name: /^Workspace/ }).click();
    await page.getByRole('menuitem', { name: 'Shared' }).click();
    await page.getByText('Your role in Shared is viewer, which cannot make keys.').waitFor();
    expect(await page.getByRole('button', { name: 'Make a key' }).count()).toBe(0);
    expect(await page.getByText('they are refused until you').count()).toBe(0);
  });

  it('close the menu of a phone behind whoever goes to them', async () => {
    const page = await stage.open('/keys', { as: await stage.person(), width: 360 });
    await page.getByRole('button', { name: 'Open the menu' }).click();
    await page.getByRole('dialog').getByRole('link', { name: 'Sotto' }).click();
    await page.getByRole('heading', { level: 1, name: 'First steps' }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  });

  it('are there for whoever is signed in; others are told what this is, and sign in to come back', async () => {
    const person = await stage.person();
    const page = await stage.open('/');
    await page.getByRole('heading', { level: 1, name: /keeps who asks apart/ }).waitFor();
    await page.goto('/sign-in?return_to=%2F%2Fevil.example');
    await page.getByLabel('Email').fill(person.email);
    await page.getByLabel('Password').fill('wrong password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Password').fill(person.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'First steps' }).waitFor();
    expect(new URL(page.url()).origin).toBe(stage.origin);
  });

  thoroughly('look well', async () => {
    const person = await stage.person();
    const heading = (name: string | RegExp) => ({ level: 1, name }) as const;
    await expectGoodLooks(stage, {
      name: 'welcome',
      path: '/',
      shown: (page) => page.getByRole('heading', heading(/keeps who asks apart/)).waitFor(),
    });
    await expectGoodLooks(stage, {
      name: 'first-steps',
      path: '/',
      as: person,
      shown: async (page) => {
        await page.getByText('$10.00').first().waitFor();
        await page.getByRole('button', { name: 'Make a key' }).waitFor();
      },
    });
    await expectGoodLooks(stage, {
      name: 'sign-in',
      path: '/sign-in',
      shown: (page) => page.getByRole('heading', heading('Sign in')).waitFor(),
    });
    await expectGoodLooks(stage, {
      name: 'not-found',
      path: '/nowhere',
      shown: (page) => page.getByRole('heading', heading('No such page')).waitFor(),
    });
  });
});
