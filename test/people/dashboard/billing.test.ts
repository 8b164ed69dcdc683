import { readFile } from 'node:fs/promises';
import { afterAll, expect, it } from 'vitest';
import { thoroughly } from '../../kit/thoroughly.ts';
import { makeIssuer } from '../../kit/wallets.ts';
import { describeDashboard, expectGoodLooks } from './stage.ts';

const issuer = await makeIssuer();
afterAll(() => issuer.stop());

await describeDashboard(
  'billing',
  (stage) => {
    it('tops up by the test rail: the balance follows, and the receipt is available as a page and as a PDF', async () => {
      const page = await stage.open('/billing', { as: await stage.person(0) });
      await page.getByText('No orders yet').waitFor();
      expect(await page.getByTestId('available').textContent()).toBe('$0.00');
      await page.getByText('$50.00', { exact: true }).click();
      await page.getByRole('button', { name: 'Pay $52.50' }).click();
      await page.getByText('Paid: $50.00 is in your balance.').waitFor();
      await page.getByTestId('available').filter({ hasText: '$50.00' }).waitFor();
      await page.getByRole('table', { name: 'Your orders, newest first' }).getByText('Paid', { exact: true }).waitFor();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('table', { name: 'Your receipts, newest first' }).getByRole('link', { name: /^PDF/ }).click(),
      ]);
      expect(download.suggestedFilename()).toMatch(/^receipt-\d{4}-\d{6}\.pdf$/);
      expect((await readFile(await download.path())).subarray(0, 5).toString('latin1')).toBe('%PDF-');
      const [receipt] = await Promise.all([
        page.context().waitForEvent('page'),
        page
          .getByRole('link', { name: /^View receipt/ })
          .first()
          .click(),
      ]);
      await receipt.getByText('52.50').first().waitFor();
    });

    it('says why an order is refused, in the words of the service, and keeps the choices', async () => {
      const person = await stage.person(990);
      const page = await stage.open('/billing', { as: person });
      await page.getByText('$100.00', { exact: true }).click();
      await page.getByRole('button', { name: 'Pay $105.00' }).click();
      await page
        .getByRole('alert')
        .filter({ hasText: /balance/i })
        .waitFor();
      expect(await page.getByRole('radio', { name: /^\$100\.00/ }).isChecked()).toBe(true);
      expect(await page.getByTestId('available').textContent()).toBe('$990.00');
    });

    it('keeps the threshold for low-balance mail, and names the field of an invalid amount', async () => {
      const person = await stage.person(3);
      const page = await stage.open('/billing', { as: person });
      await page.getByLabel('Warn me below').fill('five');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('An amount in $, such as 5 or 12.50.').waitFor();
      await page.getByLabel('Warn me below').fill('5');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Billing settings are saved.').first().waitFor();
      await page.reload();
      expect(await page.getByLabel('Warn me below').inputValue()).toBe('5');
    });

    it('creates and revokes a code for `sotto purse buy`, after a sign-in of the last minutes, and shows it once', async () => {
      const person = await stage.person(0);
      const page = await stage.open('/billing', { as: person });
      await page.getByLabel('Lots that the code permits').fill('0');
      await page.getByText('A whole number from 1 to 200.').waitFor();
      await page.getByLabel('Lots that the code permits').fill('12');
      await page.getByText('At most $60 within a year.').waitFor();
      await page.getByRole('button', { name: 'Create a code' }).click();
      await page.getByText(/A code permits 12 more lots \(\$60\), until .* 20\d\d, /).waitFor();
      const code = (await page.getByTestId('credit-code').textContent()) ?? '';
      expect(code).toMatch(/^[0-9A-Z]{4}(-[0-9A-Z]{4}){3}$/);
      await page.reload();
      await page.getByRole('button', { name: 'Replace the code' }).waitFor();
      expect(await page.getByText(code).count()).toBe(0);
      await page.getByRole('button', { name: 'Revoke the code' }).click();
      await page.getByText('The code is revoked.').first().waitFor();
      await page.getByRole('button', { name: 'Create a code' }).waitFor();
      await stage.service.pool.query("update auth_session set created_at = created_at - interval '6 minutes'");
      await page.getByRole('button', { name: 'Create a code' }).click();
      await page.getByText('You signed in more than five minutes ago.').waitFor();
    });

    thoroughly('looks well, empty and filled', async () => {
      const empty = await stage.person(0);
      const shown = (name: string) => ({ name, path: '/billing' });
      await expectGoodLooks(stage, {
        ...shown('billing-empty'),
        as: empty,
        shown: (page) => page.getByText('No receipts yet').waitFor(),
      });
      const filled = await stage.person(5);
      const page = await stage.open('/billing', { as: filled });
      await page.getByRole('button', { name: /^Pay/ }).click();
      await page.getByText(/is in your balance/).waitFor();
      await page.getByLabel('Billed to').fill('Ann Example Ltd\nGB 123');
      await page.getByRole('button', { name: 'Use on receipts' }).click();
      await page.getByText('Receipts from now on have these details.').first().waitFor();
      await page.reload();
      expect(await page.getByLabel('Billed to').inputValue()).toBe('Ann Example Ltd\nGB 123');
      await expectGoodLooks(stage, {
        ...shown('billing'),
        as: filled,
        shown: (open) =>
          open
            .getByRole('link', { name: /^View receipt/ })
            .first()
            .waitFor(),
      });
    });
  },
  { prepare: async () => issuer.environment },
);
