import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import type { Stage } from './stage.ts';

/** Agreeing to simulated evidence. */
export function playgroundConsentSuite(stage: Stage): void {
  it('agrees on a phone where the question is typed, and leads back there after agreeing in the setup', async () => {
    for (const inSetup of [false, true]) {
      const page = await stage.open('/playground?model=acme/small', { as: await stage.person(), width: 390 });
      const send = page.getByRole('button', { name: 'Send' });
      await page.getByLabel('Your question').fill('Hello');
      await agree(page).waitFor();
      expect(await isInView(agree(page))).toBe(true);
      if (inSetup) {
        await openSetup(page);
        await page.getByLabel('Continue with simulated evidence').check();
      } else await agree(page).click();
      await expect.poll(() => send.isEnabled()).toBe(true);
      expect(await isInView(send)).toBe(true);
    }
  });
}

/** Whether a person sees it without scrolling. */
async function isInView(locator: Locator): Promise<boolean> {
  const [box, view] = [await locator.boundingBox(), locator.page().viewportSize()];
  return box !== null && view !== null && box.y >= 0 && box.y + box.height <= view.height;
}

/** The button beside the field, in its place also on a phone. */
export const agree = (page: Page) => page.getByRole('button', { name: 'Continue with simulated evidence' });

/** Opens the setup, which is folded on a phone. */
export async function openSetup(page: Page): Promise<void> {
  await page.getByText('Setup', { exact: true }).waitFor({ state: 'attached' });
  const folded = page.getByRole('button', { name: /^Setup/, expanded: false });
  if (await folded.isVisible()) await folded.click();
}
