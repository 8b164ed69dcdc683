import { describe, expect, it } from 'vitest';
import { listed, requests, use, user } from './requests.suite.ts';
import type { Stage } from './stage.ts';

/** New requests in the list, and views of it by name. */
export function requestsLiveSuite(stage: Stage): void {
  describe('requests, as they come', () => {
    it('puts new requests on top while the reader is there, and names the member of each', async () => {
      const person = await user(stage);
      const [keyId = ''] = person.keyIds;
      await use(stage, person, [{ keyId, minutesAgo: 9 }]);
      const page = await stage.open('/usage?view=requests', { as: person });
      await listed(page, '1 request');
      await page.getByRole('button', { name: 'Columns' }).click();
      await page.getByRole('menuitem', { name: 'Member' }).click();
      await page.keyboard.press('Escape');
      await requests(page).filter({ hasText: person.email }).waitFor();
      await use(stage, person, [{ keyId, minutesAgo: 5, model: 'acme/wide' }]);
      const look = () => page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
      await look();
      await listed(page, '2 requests');
      expect(await requests(page).first().textContent()).toContain('acme/wide');
      // Under an open request, no row moves.
      await requests(page).first().click();
      await use(stage, person, [{ keyId, minutesAgo: 2, model: 'beta/chat' }]);
      await look();
      await page.getByRole('button', { name: 'Show 1 new request' }).click();
      await listed(page, '3 requests');
    });

    it('says at its edge that there are more columns than fit', async () => {
      const person = await user(stage);
      await use(stage, person, [{ keyId: person.keyIds[0] ?? '' }]);
      const page = await stage.open('/usage?view=requests', { as: person, width: 900 });
      await listed(page, '1 request');
      await expect.poll(() => page.getByTestId('cut-edge').count()).toBe(0);
      for (const column of ['Operation', 'Key', 'Member']) {
        await page.getByRole('button', { name: 'Columns' }).click();
        await page.getByRole('menuitem', { name: column }).click();
      }
      await page.getByTestId('cut-edge').waitFor({ state: 'attached' });
      await page
        .getByRole('grid', { name: 'Requests' })
        .evaluate((grid: { parentElement: { parentElement: { scrollLeft: number } } }) => {
          grid.parentElement.parentElement.scrollLeft = 9999;
        });
      await expect.poll(() => page.getByTestId('cut-edge').count()).toBe(0);
    });

    it('keeps views by name in this browser', async () => {
      const page = await stage.open('/usage?view=requests&status=failed', { as: await user(stage) });
      await page.getByRole('button', { name: 'Views' }).click();
      await page.getByRole('menuitem', { name: 'Save this view…' }).click();
      await page.getByLabel('Name').fill('What failed');
      await page.getByRole('button', { name: 'Save view' }).click();
      // Another tab of the same person saves one by that name, too.
      const other = await page.context().newPage();
      await other.goto('/usage?range=7d');
      await other.getByRole('button', { name: 'Views' }).click();
      await other.getByRole('menuitem', { name: 'Save this view…' }).click();
      await other.getByLabel('Name').fill('What failed');
      await other.getByText('Replaces the view “What failed”.').waitFor();
      await other.getByLabel('Name').fill('A week');
      await other.getByRole('button', { name: 'Save view' }).click();
      await other.close();
      await page.goto('/usage');
      await page.getByRole('button', { name: 'Views' }).click();
      await page.getByRole('menuitem', { name: 'What failed' }).click();
      await expect.poll(() => new URL(page.url()).searchParams.get('status')).toBe('failed');
      await page.getByRole('button', { name: 'Views' }).click();
      await page.getByRole('menuitem', { name: 'Remove a view…' }).click();
      for (const name of ['What failed', 'A week']) await page.getByRole('button', { name: `Remove ${name}` }).click();
      await page.getByRole('button', { name: 'Views' }).click();
      await page.getByText('No view is saved in this browser').waitFor();
    });
  });
}
