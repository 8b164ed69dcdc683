import { thoroughly } from '../../kit/thoroughly.ts';
import { dialog, makeKey, openDialog, row } from './keys-page.ts';
import { expectGoodLooks, type Stage } from './stage.ts';

/** How the page of keys looks. */
export function keyLooks(stage: Stage): void {
  thoroughly('look well', async () => {
    const person = await stage.person();
    const page = await stage.open('/keys', { as: person });
    await makeKey(page, 'laptop', { limit: '5' });
    await makeKey(page, 'nightly job');
    await makeKey(page, 'a demonstration with a rather long name, for the people upstairs', { limit: '0.01' });
    await makeKey(page, 'old');
    await stage.service.pool.query(
      `update api_keys set last_used_at = now() - interval '3 hours', spent_nusd = case name when 'laptop' then 4600000000
         when 'nightly job' then 1234000000 when 'old' then 20000 else 10000000 end,
         revoked_at = case name when 'old' then now() end, disabled_at = case name when 'nightly job' then now() end,
         expires_at = case name when 'laptop' then now() + interval '3 days' end,
         allowed_models = case name when 'laptop' then array['acme/small', 'acme/plain'] end where account_id = $1`,
      [person.accountId],
    );
    await expectGoodLooks(stage, {
      name: 'keys',
      path: '/keys?revoked=true',
      as: person,
      shown: (shown) => row(shown, 'laptop').waitFor(),
    });
  });

  thoroughly('look well where there are none', async () => {
    await expectGoodLooks(stage, {
      name: 'keys-none',
      path: '/keys',
      as: await stage.person(),
      shown: (page) => page.getByText('No keys in this workspace yet').waitFor(),
    });
  });

  thoroughly('look well while they are made', async () => {
    await expectGoodLooks(stage, { name: 'keys-make', path: '/keys', as: await stage.person(), shown: openDialog });
  });

  thoroughly('look well when they are shown, once', async () => {
    await expectGoodLooks(stage, {
      name: 'keys-new',
      path: '/keys',
      as: await stage.person(),
      shown: async (page) => {
        await openDialog(page);
        await dialog(page).getByLabel('Name').fill('laptop');
        await dialog(page).getByRole('button', { name: 'Create key' }).click();
        await dialog(page).getByTestId('new-key').waitFor();
        await dialog(page).getByRole('button', { name: 'Done' }).click();
        await dialog(page).getByText('it cannot be shown again').waitFor();
      },
    });
  });
}
