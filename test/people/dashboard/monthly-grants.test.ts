import { monthlyGrantAnswerSchema } from '@sotto/contract/control/billing';
import { expect, it } from 'vitest';
import { totpCode } from '../../kit/authenticator.ts';
import { peopleOf } from '../../kit/people.ts';
import { describeDashboard, enrol, expectAccessible, keepPicture } from './stage.ts';

const noGrant = { BILLING: 'none', MONTHLY_GRANT_USD: '0', BILLING_TEST_RAIL: 'off' };

await describeDashboard(
  'the dashboard of a service without payments',
  (stage) => {
    it('sends people to the operator, who sets their grant, and then shows it', async () => {
      const [operator, person] = [await stage.person(0), await stage.person(0)];
      const page = await stage.open('/', { as: person });
      await page.getByText('or ask your operator for more').waitFor();
      await page.getByRole('link', { name: 'See your monthly grant' }).click();
      await page.getByText('You get no grant next month. Ask your operator for one.').waitFor();
      expect(await page.getByText(/top.?up/i).count()).toBe(0);

      const theirs = await stage.open('/', { as: operator });
      const uri = await enrol(theirs, operator);
      await peopleOf(stage).makeOperator(operator);
      await theirs.goto(`/operator/accounts/${person.accountId}`);
      await theirs.getByText('$0.00, as every account').waitFor();
      await theirs.getByLabel('$ a month').fill('5');
      await theirs.getByRole('button', { name: 'Change' }).click();
      const dialog = theirs.getByRole('dialog');
      await dialog.getByLabel('Code of your authenticator app').fill(totpCode(uri, Date.now()));
      await dialog.getByRole('button', { name: 'Confirm' }).click();
      await theirs.getByText('The monthly grant is changed.').first().waitFor();
      await theirs.getByRole('table').getByText('Account grant set').waitFor();
      await expectAccessible(theirs);
      await keepPicture(theirs, 'operator-grant');

      await page.reload();
      const answer = await page.request.get('/v1/billing/grant');
      const { renews_at: at } = monthlyGrantAnswerSchema.parse(await answer.json());
      expect(new Date(at).getUTCDate()).toBe(1);
      // The top bar, the balance, and the grants of this month and the next.
      await page.getByText('$5.00').nth(3).waitFor();
      expect(await page.getByText('You get no grant').count()).toBe(0);
      expect(await page.getByTestId('available').textContent()).toBe('$5.00');
      await expectAccessible(page);
      await keepPicture(page, 'monthly-grant');
    });
  },
  { prepare: async () => noGrant },
);
