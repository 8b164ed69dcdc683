import { randomUUID } from 'node:crypto';
import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import { totpCode } from '../../kit/authenticator.ts';
import { peopleOf } from '../../kit/people.ts';
import { thoroughly } from '../../kit/thoroughly.ts';
import { dayMs, use, user } from './requests.suite.ts';
import {
  createKey,
  describeDashboard,
  enrol,
  expectAccessible,
  expectGoodLooks,
  heading,
  holdBack,
  keepPicture,
} from './stage.ts';

await describeDashboard(
  'the pages of operators',
  (stage) => {
    const operator = async () => {
      const person = await stage.person(0);
      await peopleOf(stage).makeOperator(person);
      return person;
    };

    it('are in the menu of operators only', async () => {
      const page = await stage.open('/', { as: await stage.person() });
      await page.getByRole('link', { name: 'Billing' }).waitFor();
      await page.waitForLoadState('networkidle');
      expect(await page.getByRole('link', { name: 'Sign-up policy' }).count()).toBe(0);
      await page.goto('/operator/accounts');
      await page.getByText('There is nothing at this address.').waitFor();

      const theirs = await stage.open('/', { as: await operator() });
      await theirs.getByRole('link', { name: 'Sign-up policy' }).click();
      await theirs.getByRole('heading', heading('Sign-up policy')).waitFor();
      await theirs.getByText('Open: everyone').waitFor();
    });

    it('credit, disable and enable an account once a code was shown, and list the acts', async () => {
      const [person, customer] = [await stage.person(0), await stage.person(5)];
      const page = await stage.open('/', { as: person });
      const uri = await enrol(page, person);
      await peopleOf(stage).makeOperator(person);
      await page.goto('/operator/accounts');
      await page.getByLabel('Part of the address, or an account id').fill(customer.email);
      await page.getByRole('button', { name: 'Search', exact: true }).click();
      await page.getByRole('table').getByRole('link', { name: customer.email }).click();
      await page.getByRole('heading', heading(customer.email)).waitFor();
      await page.getByLabel('Amount ($)').fill('2.5');
      await page.getByLabel('Reference').fill(`invoice of ${customer.email}`);
      await page.getByRole('button', { name: 'Credit' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Code of your authenticator app').fill(totpCode(uri, Date.now()));
      await dialog.getByRole('button', { name: 'Confirm' }).click();
      await page.getByText('$7.50').waitFor();
      await page.getByRole('button', { name: 'Disable…' }).click();
      await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click();
      await page.getByText('Disabled', { exact: true }).waitFor();
      const refused = await page.request.post('/v1/auth/sign-in/email', {
        data: { email: customer.email, password: customer.password },
      });
      expect(refused.status()).toBe(403);
      await page.getByRole('button', { name: 'Enable' }).click();
      await page.getByText('Active', { exact: true }).waitFor();
      const log = page.getByRole('table', { name: /Events that concern this account/ });
      for (const act of ['Account credited', 'Account disabled', 'Account enabled']) await log.getByText(act).waitFor();
      await expectAccessible(page);
    });

    it('delete a person only after their address was typed, with what is lost in words', async () => {
      const [person, customer] = [await operator(), await stage.person(5)];
      await stage.service.pool.query('update auth_session set factor_at = now()');
      const page = await stage.open(`/operator/accounts/${customer.accountId}`, { as: person });
      await stage.service.pool.query('update auth_session set factor_at = now()');
      await page.getByRole('button', { name: 'Delete…' }).click();
      const dialog = page.getByRole('dialog', { name: `Delete ${customer.email}?` });
      await dialog.getByText('Then the balance is forfeited').waitFor();
      await dialog.getByLabel('The address').fill('another@people.example');
      await dialog.getByRole('button', { name: 'Delete person' }).click();
      await dialog.getByText('This is not the address of the account.').waitFor();
      await expectAccessible(page);
      await keepPicture(page, 'operator-delete');
      await dialog.getByLabel('The address').fill(customer.email);
      await dialog.getByRole('button', { name: 'Delete person' }).click();
      await dialog.waitFor({ state: 'hidden' });
      await page.getByText('Deleted', { exact: true }).waitFor();
      expect(await page.getByRole('button', { name: 'Delete…' }).count()).toBe(0);
      await page.getByRole('table').getByText('Account deleted').waitFor();
      const { rows } = await stage.service.pool.query('select 1 from auth_user where email = $1', [customer.email]);
      expect(rows).toEqual([]);
    });

    it('lead to a second factor, and keep what was typed until there is one', async () => {
      const person = await operator();
      // An operator who has removed every factor.
      await stage.service.pool.query('delete from auth_passkey');
      await stage.service.pool.query(
        "insert into rejected_settlements (id, shard, stream_id, reason, payload, mac) values ($1, 1, '1-1', 'bad_mac', '{}', '')",
        [randomUUID()],
      );
      const page = await stage.open('/operator/books', { as: person });
      await page.getByRole('button', { name: 'Dismiss the settlement' }).click();
      const [dismissing, proof] = ['Dismiss the settlement', 'Confirm your second factor'].map((name) =>
        page.getByRole('dialog', { name }),
      ) as [Locator, Locator];
      await dismissing.getByLabel('Reason').fill('a long reason');
      await dismissing.getByRole('button', { name: 'Dismiss' }).click();
      const [account] = await Promise.all([
        page.context().waitForEvent('page'),
        proof.getByRole('link', { name: 'account page' }).click(),
      ]);
      await account.getByRole('heading', heading('Account and security')).waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await proof.waitFor({ state: 'hidden' });
      expect(await dismissing.getByLabel('Reason').inputValue()).toBe('a long reason');
      // A user who cancels begins anew.
      await dismissing.getByRole('button', { name: 'Cancel' }).click();
      await page.getByRole('button', { name: 'Dismiss the settlement' }).click();
      expect(await dismissing.getByLabel('Reason').inputValue()).toBe('');
      await dismissing.getByLabel('Reason').fill('a short reason');
      await stage.service.pool.query('update auth_session set factor_at = now()');
      const uri = await enrol(page, person);
      await stage.service.pool.query('update auth_session set factor_at = null');
      await dismissing.getByRole('button', { name: 'Dismiss' }).click();
      await proof.getByLabel('Code of your authenticator app').fill(totpCode(uri, Date.now()));
      // While the service checks the code, the dismissal cannot be taken back: it follows at once.
      const check = await holdBack(page, '**/two-factor/verify-totp');
      await proof.getByRole('button', { name: 'Confirm' }).click();
      await proof.locator('button[aria-busy=true]').waitFor();
      await page.keyboard.press('Escape');
      expect(await proof.isVisible()).toBe(true);
      check();
      await page.getByText('None.', { exact: true }).waitFor();
    });

    it('show what each person used by month and workspace, and acts by person and time', async () => {
      const person = await operator();
      const [payer, member] = [await user(stage), await stage.person(0)];
      const [, keyId = ''] = payer.keyIds;
      await stage.service.pool.query('update api_keys set created_by = $2 where id = $1', [keyId, member.accountId]);
      await use(stage, payer, [
        { keyId, usd: 2.5 },
        { keyId, usd: 4, daysAgo: 62 },
      ]);
      const page = await stage.open('/operator/accounts', { as: person });
      await page.getByLabel('Part of the address, or an account id').fill(member.email);
      await page.getByRole('button', { name: 'Search', exact: true }).click();
      // The member has paid nothing, and is not "never used".
      const account = page.getByRole('table').getByRole('row', { name: member.email });
      await account.getByText('$2.50').waitFor();
      expect(await account.textContent()).not.toContain('Never');

      await page.getByRole('link', { name: 'Spend' }).click();
      const spend = page.getByRole('table', { name: 'Spend by month, workspace and member' });
      const row = spend.getByRole('row').filter({ hasText: member.email });
      for (const text of ['Default Workspace', payer.email, '$2.50']) await row.getByText(text).waitFor();
      const month = new Date(Date.now() - 62 * dayMs).toISOString().slice(0, 7);
      await page.getByLabel('Month (UTC)').selectOption(month);
      await row.getByText('$4.00').waitFor();
      await expectAccessible(page);
      const file = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Export' }).click();
      expect((await file).suggestedFilename()).toContain(`spend-${month}-01-`);
      await row.getByRole('link', { name: member.email }).click();
      const both = page.getByRole('table', { name: 'Spend by month, workspace and member' }).getByRole('row');
      await expect.poll(() => both.count()).toBe(3);

      // An amount that was typed for one account is not in the form of the other, which is cached and shown at once.
      await both.last().getByRole('link', { name: payer.email }).click();
      await page.getByRole('heading', heading(payer.email)).waitFor();
      await page.getByLabel('Amount ($)').fill('500');
      await page.goBack();
      await page.getByRole('heading', heading(member.email)).waitFor();
      expect(await page.getByLabel('Amount ($)').inputValue()).toBe('');

      await page.getByRole('link', { name: 'Deployment audit log' }).click();
      const acts = page.getByRole('table', { name: 'Events, newest first' }).getByRole('row');
      await page.getByLabel('Part of an address, or an account id').fill(payer.email);
      // Two keys. Operators learn no names of keys.
      await expect.poll(() => acts.count()).toBe(3);
      expect(await acts.last().textContent()).toContain(payer.email);
      expect((await acts.allTextContents()).join()).not.toContain('laptop');
      await page.getByLabel('Kind').selectOption('Budgets and alerts');
      await page.getByText('No event matches these filters.').waitFor();
      await page.getByLabel('Kind').selectOption('Keys');
      await page.getByLabel('To, inclusive').fill('2025-01-01');
      await page.getByText('No event matches these filters.').waitFor();
      await page.getByRole('button', { name: 'Clear filters' }).first().click();
      await page.getByLabel('By', { exact: true }).selectOption('Command line');
      await acts.getByText('Operator granted').first().waitFor();
      await expectAccessible(page);
    });

    it('of a workspace show its audit log to its admins', async () => {
      const person = await stage.person();
      const page = await stage.open('/workspaces', { as: person });
      await createKey(page, { name: 'x' });
      await page.getByRole('link', { name: 'Default Workspace' }).click();
      await page.getByRole('main').getByRole('link', { name: 'Audit log' }).click();
      await page.getByRole('table').getByText('Key created').waitFor();
      await page.getByRole('table').getByText(person.email).first().waitFor();
      // It names the key, which is in the log by its id alone.
      await page.getByRole('table').getByText('kind inference, key x').waitFor();
      // A limit that somebody removes is told.
      const { rows } = await stage.service.pool.query<{ id: string }>('select id from api_keys where created_by = $1', [
        person.accountId,
      ]);
      for (const credit_limit_usd of [5, null])
        await page.request.patch(`/v1/keys/${rows[0]?.id}`, { data: { credit_limit_usd } });
      await page.reload();
      await page.getByRole('table').getByText('key x, credit limit removed').waitFor();
      await page.getByRole('table').getByText('key x, credit limit $5.00').waitFor();

      await page.getByRole('navigation').getByRole('link', { name: 'Audit log' }).click();
      await page.getByLabel('Kind').selectOption('Routing');
      await page.getByText('No event matches these filters.').waitFor();
      await page.getByLabel('Kind').selectOption('Keys');
      await page.getByRole('combobox', { name: 'Person' }).click();
      await page.getByRole('option', { name: person.email }).click();
      await page.getByRole('table').getByText('Key created').waitFor();
      expect(new URL(page.url()).search).toBe(`?kind=keys&by=${person.accountId}`);
      await expectAccessible(page);
      const file = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Export' }).click();
      expect((await file).suggestedFilename()).toBe('audit.csv');
    });

    thoroughly('look well', async () => {
      const person = await operator();
      await stage.service.runControl(['sign-up', 'invite', 'a.person.with.a.long.name@a-long-domain.example']);
      const names = {
        accounts: 'Accounts',
        [`accounts/${person.accountId}`]: person.email,
        providers: 'Providers',
        orders: 'Orders',
        spend: 'Spend',
        books: 'Ledger',
        audit: 'Deployment audit log',
        'sign-up': 'Sign-up policy',
      };
      for (const [path, title] of Object.entries(names)) {
        await expectGoodLooks(stage, {
          name: `operator-${path.split('/').length > 1 ? 'account' : path}`,
          path: `/operator/${path}`,
          as: person,
          widths: [390, 1440],
          shown: async (page) => {
            await page.getByRole('heading', heading(title)).waitFor();
            await page.waitForLoadState('networkidle');
          },
        });
      }
    });
  },
  { controlHost: 'localhost' },
);
