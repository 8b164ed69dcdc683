import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { type Mailbox, openMailbox } from '../../kit/mailbox.ts';
import { addAuthenticator, describeDashboard, heading, type Stage, shell, signUpBy } from './stage.ts';

const password = 'correct horse battery';

interface Answer {
  readonly object?: string;
  readonly error?: { readonly type: string };
}

/** Runs a printed command, and reads its answer. */
const run = async (command: string): Promise<Answer> => JSON.parse(await shell(command)) as Answer;

let mailbox: Mailbox | undefined;
afterAll(() => mailbox?.stop());

await describeDashboard(
  'a walk through all of it',
  (stage) => {
    it('from signing up, over a first answer and its receipt, to revoking everything', async () => {
      const { page, email } = await signUpAndVerify(stage);

      // Add money to pay with.
      await page.goto('/billing');
      await page.getByText('$10.00', { exact: true }).click();
      await page.getByRole('button', { name: 'Pay $10.50' }).click();
      await page.getByText('Paid: $10.00 is in your balance.').waitFor();
      const receipt = page.waitForEvent('download');
      await page
        .getByRole('table', { name: /receipts/ })
        .getByRole('link', { name: /^PDF/ })
        .click();
      expect((await readFile(await (await receipt).path())).subarray(0, 5).toString('latin1')).toBe('%PDF-');

      // Get a first answer, by the printed command.
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByTestId('new-key').waitFor();
      // The one call of compatibility mode names the error itself.
      await page.getByRole('tab', { name: 'curl', exact: true }).click();
      const command = (await page.getByRole('tabpanel').locator('pre').textContent()) ?? '';
      expect(await run(command)).toMatchObject({ object: 'chat.completion' });

      // Create a key with a limit and reach it. The largest possible price of a request must fit under it.
      const limited = await makeKey(page, 'A little', '0.0017');
      const withLimited = command.replace(/sotto_inf_[\w-]+/, limited);
      const answers: (string | undefined)[] = [];
      while (answers.at(-1) !== 'insufficient_balance' && answers.length < 50) {
        const { object, error } = await run(withLimited);
        answers.push(object ?? error?.type);
      }
      expect(answers[0]).toBe('chat.completion');
      expect(answers.at(-1)).toBe('insufficient_balance');

      // Set preferences that the next request obeys.
      await page.getByRole('link', { name: 'Routing' }).click();
      await page.getByLabel(/^acme(?!\/)/).uncheck();
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved. It applies from the next request.').first().waitFor();
      expect(await run(command)).toMatchObject({ error: { type: 'no_provider_route' } });
      await page.getByLabel(/^acme(?!\/)/).check();
      await page.getByRole('button', { name: 'Save' }).click();
      await expect.poll(async () => (await run(command)).object, { timeout: 10_000 }).toBe('chat.completion');

      // Download the usage as a file.
      await page.getByRole('link', { name: 'Usage' }).click();
      await page.getByRole('tab', { name: 'Requests' }).click();
      const download = page.getByRole('link', { name: 'Export requests' });
      await download.waitFor();
      const file = page.waitForEvent('download');
      await download.click();
      expect(await readFile(await (await file).path(), 'utf8')).toMatch(/^id,at,[\s\S]*acme\/small/);

      await inviteAndGiveRole(stage, page);
      await addPasskeyAndSignInWithIt(page);

      // Revoke and remove everything.
      await page.goto('/keys');
      for (const name of ['First key', 'A little']) {
        await page.getByRole('button', { name: `Actions for ${name}` }).click();
        await page.getByRole('menuitem', { name: 'Revoke' }).click();
        await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click();
        await page.getByRole('alertdialog').waitFor({ state: 'hidden' });
      }
      for (const each of [command, withLimited]) {
        expect(await run(each)).toMatchObject({ error: { type: 'invalid_api_key' } });
      }
      const elsewhere = await stage.open('/account', { as: { email, password } });
      await elsewhere.getByRole('heading', heading('Account and security')).waitFor();
      await page.goto('/account');
      await page.getByRole('button', { name: 'End all others' }).click();
      await page.getByRole('alertdialog').getByRole('button', { name: /^End/ }).click();
      await page.getByRole('alertdialog').waitFor({ state: 'hidden' });
      await elsewhere.reload();
      await elsewhere.getByRole('heading', heading('Sign in')).waitFor();
    }, 180_000);
  },
  {
    controlHost: 'localhost',
    prepare: async () => {
      mailbox = await openMailbox();
      return { SMTP_URL: mailbox.url, MAIL_FROM: 'Sotto <no-reply@sotto.example>' };
    },
  },
);

async function signUpAndVerify(stage: Stage): Promise<{ readonly page: Page; readonly email: string }> {
  const email = 'walker@people.example';
  const page = await stage.open('/');
  await page.getByRole('link', { name: 'Create an account' }).click();
  await signUpBy(page, 'Ann Walker', { email, password });
  await page.getByRole('heading', heading('Check your mail')).waitFor();
  await page.goto(await mailedPath(stage, email, 'Confirm your address'));
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.getByRole('button', { name: 'Account', exact: true }).waitFor();
  return { page, email };
}

async function mailedPath(stage: Stage, to: string, subject: string): Promise<string> {
  const mail = await mailbox?.newest(to, subject);
  return (/https?:\/\/\S+#token=\S+/.exec(mail?.text ?? '')?.[0] ?? '').slice(stage.origin.length);
}

async function makeKey(page: Page, name: string, limit: string): Promise<string> {
  await page.getByRole('link', { name: 'Keys', exact: true }).click();
  await page.getByRole('button', { name: 'Create key' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByLabel('Limit ($)').fill(limit);
  await dialog.getByRole('button', { name: 'Create key' }).click();
  const key = (await dialog.getByTestId('new-key').textContent()) ?? '';
  await dialog.getByRole('button', { name: 'Copy key' }).click();
  await dialog.getByText('Copied').waitFor();
  await dialog.getByRole('button', { name: 'Done' }).click();
  return key;
}

/** A guest signs up by the link of the mail, is let in, and becomes an admin. */
async function inviteAndGiveRole(stage: Stage, page: Page): Promise<void> {
  const guest = 'guest@people.example';
  await page.getByRole('link', { name: 'Workspaces' }).click();
  await page.getByRole('link', { name: 'Default Workspace' }).click();
  await page.getByLabel('Email').fill(guest);
  await page.getByLabel('Role', { exact: true }).selectOption('viewer');
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByTestId('invitation-link').waitFor();

  const theirs = await stage.open('/sign-up');
  await signUpBy(theirs, 'Ben Guest', { email: guest, password });
  await theirs.getByRole('heading', heading('Check your mail')).waitFor();
  await theirs.goto(await mailedPath(stage, guest, 'Confirm your address'));
  await theirs.getByLabel('Password').fill(password);
  await theirs.getByRole('button', { name: 'Confirm' }).click();
  await theirs.getByRole('button', { name: 'Account', exact: true }).waitFor();
  await theirs.goto(await mailedPath(stage, guest, 'invited'));
  await theirs.getByRole('button', { name: 'Accept' }).first().click();
  await theirs.goto('/workspaces');
  await theirs.getByRole('row', { name: /Default Workspace.*Viewer/ }).waitFor();

  await page.reload();
  await page.getByLabel(`Role of ${guest}`).selectOption('admin');
  await page.waitForResponse((answer) => answer.url().includes('/members?') && answer.ok());
  await theirs.reload();
  await theirs.getByRole('row', { name: /Default Workspace.*Admin/ }).waitFor();
}

async function addPasskeyAndSignInWithIt(page: Page): Promise<void> {
  await addAuthenticator(page);
  await page.goto('/account');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByRole('dialog').getByLabel('Your password').fill(password);
  await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('table', { name: 'Passkeys' }).getByText('Chrome on Linux').waitFor();
  await page.getByRole('button', { name: 'Account', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  // The authenticator agrees at once when the browser offers the passkey.
  await page.getByRole('heading', heading('Overview')).waitFor();
}
