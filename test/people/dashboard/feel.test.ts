import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { thoroughly } from '../../kit/thoroughly.ts';
import { createKey, describeDashboard, expectAccessible, expectGoodLooks, heading, keepPicture } from './stage.ts';

const palette = (page: Page) => page.getByRole('dialog', { name: 'Search and commands' });
const field = (page: Page) => palette(page).getByRole('combobox');
const shown = async (page: Page, name: string): Promise<void> => page.getByRole('heading', heading(name)).waitFor();

/** Fails if a control is smaller than WCAG 2.2 AA allows, which axe does not check by default. */
async function expectTargets(page: Page): Promise<void> {
  await page.evaluate(`${axe.source}; undefined`);
  const found = await page.evaluate<readonly string[]>(
    `axe.run(document, { runOnly: ['target-size'] }).then(({ violations }) =>
      violations.flatMap(({ nodes }) => nodes.map(({ target, failureSummary }) => target.join(' ') + ': ' + failureSummary)))`,
  );
  expect(found, page.url()).toEqual([]);
}

await describeDashboard('feel', (stage) => {
  it('the palette opens by a key, finds models, keys, pages and actions, and gives the focus back', async () => {
    const person = await stage.person();
    const page = await stage.open('/verify', { as: person });
    await createKey(page, { name: 'Of the palette' });
    await page.goto('/usage');
    await shown(page, 'Usage');
    await page.getByRole('button', { name: 'Theme' }).focus();
    await page.keyboard.press('Control+k');
    await field(page).and(page.locator(':focus')).waitFor();
    await expectAccessible(page);
    await expectTargets(page);
    await keepPicture(page, 'palette');
    await page.keyboard.press('Escape');
    await page.locator('button[aria-label=Theme]:focus').waitFor();

    await page.keyboard.press('Control+k');
    await field(page).pressSequentially('wide acme');
    await palette(page).getByRole('option', { name: 'acme/wide', selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await shown(page, 'Name of acme/wide');

    await page.keyboard.press('Control+k');
    await field(page).fill('of the palette');
    await palette(page)
      .getByRole('option', { name: /Of the palette/ })
      .waitFor();
    await page.keyboard.press('Enter');
    await shown(page, 'Keys');
    expect(new URL(page.url()).searchParams.get('q')).toBe('Of the palette');

    await page.keyboard.press('Control+k');
    await field(page).fill('dark');
    await page.keyboard.press('Enter');
    await page.locator('html[data-theme=dark]').waitFor();
    await page.keyboard.press('Control+k');
    await field(page).fill('nothing is called this');
    await palette(page)
      .getByText(/^No page, guide, operation, model, key or action matches/)
      .waitFor();
    await field(page).fill('routing');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await shown(page, 'Routing');
  });

  it('the key / goes to the search of a page, or to the palette, and can be turned off', async () => {
    const page = await stage.open('/models');
    await page.getByText('15 models').waitFor();
    await page.keyboard.press('/');
    await page.getByRole('searchbox', { name: 'Search by name or id' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.type('a/b');
    expect(await page.getByRole('searchbox').inputValue()).toBe('a/b');
    await page.goto('/verify');
    await shown(page, 'Verify');
    await page.keyboard.press('/');
    await field(page).fill('turn off');
    await page.keyboard.press('Enter');
    await palette(page).waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await page.keyboard.press('Control+k');
    // Only the second key opened it.
    await field(page).waitFor();
    expect(await field(page).inputValue()).toBe('');
  });

  it('the menu has its pages in groups, also on a phone', async () => {
    const page = await stage.open('/', { as: await stage.person(), width: 390 });
    await page.getByRole('button', { name: 'Open the menu' }).click();
    const menu = page.getByRole('navigation', { name: 'Pages' });
    await expect
      .poll(() => menu.textContent())
      .toMatch(
        /Build.*Playground.*Models.*Keys.*Monitor.*Usage.*Docs.*Guides.*API reference.*Verify.*Account.*Billing/,
      );
    await expectTargets(page);
    await menu.getByRole('link', { name: 'Usage' }).click();
    await shown(page, 'Usage');
  });

  it('text is set in a font of our own origin, with figures of one width', async () => {
    const page = await stage.open('/models');
    await page.getByText('15 models').waitFor();
    expect(await page.evaluate('document.fonts.load(\'16px "Inter Variable"\').then((fonts) => fonts.length)')).toBe(1);
    const fonts = await page.evaluate<readonly string[]>(
      "performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.endsWith('.woff2'))",
    );
    expect(new Set(fonts.map((name) => new URL(name).origin))).toEqual(new Set([stage.origin]));
    const widths = await page.evaluate<readonly number[]>(`['1111', '8888'].map((digits) => {
      const cell = document.querySelector('tbody td:last-child').appendChild(document.createElement('span'));
      cell.textContent = digits;
      return cell.getBoundingClientRect().width;
    })`);
    expect(widths[0]).toBe(widths[1]);
  });

  it('controls are large enough to hit, and the bar at the top never hides what has the focus', async () => {
    const person = await stage.person();
    for (const path of [
      '/models',
      '/models/acme/wide',
      '/playground',
      '/usage',
      '/keys',
      '/routing',
      '/billing',
      '/verify',
    ]) {
      const page = await stage.open(path, { as: person });
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForLoadState('networkidle');
      await expectTargets(page);
      await page.context().close();
    }
    const page = await stage.open('/models', { width: 390 });
    await page.getByText('15 models').waitFor();
    await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight)');
    await page.getByRole('main').getByRole('link').last().focus();
    for (let count = 0; count < 12; count += 1) {
      await page.keyboard.press('Shift+Tab');
      const isHidden = await page.evaluate<boolean>(`(() => {
        const { top, bottom } = document.activeElement.getBoundingClientRect();
        return document.activeElement.closest('main') !== null && (bottom < 57 || top > innerHeight);
      })()`);
      expect(isHidden).toBe(false);
    }
  });

  it.each(['/', '/sign-in'])('a visitor sees who learns what in each way, before signing in: %s', async (path) => {
    const page = await stage.open(path);
    const picture = page.getByRole('figure', { name: 'Private flow' });
    expect(await picture.textContent()).toMatch(/Control.*Who you are\. No content\..*Broker.*The content\. No name\./);
    // Nothing is claimed to be verified where nothing was.
    expect(await picture.textContent()).not.toContain('verified');
    await page.getByRole('tab', { name: 'Compatibility mode' }).click();
    await page.getByRole('figure', { name: 'Compatibility mode' }).getByText('Key and content together.').waitFor();
  });

  thoroughly('looks well', async () => {
    for (const path of ['/sign-in', '/sign-up']) {
      await expectGoodLooks(stage, {
        name: `picture${path.replace('/', '-')}`,
        path,
        widths: [390, 1440],
        shown: (page) => page.getByRole('figure', { name: 'Private flow' }).waitFor(),
      });
    }
  });
});
