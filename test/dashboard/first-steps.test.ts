import { execFile } from 'node:child_process';
import { expect, it } from 'vitest';
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

  it('look well', async () => {
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
