import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../kit/free-port.ts';
import { npmStart, type StartedByNpm } from '../../kit/npm-start.ts';
import { onPath } from '../../kit/programs.ts';
import { noteSkip } from '../../kit/skips.ts';

const executablePath = onPath('chromium', 'chromium-browser', 'google-chrome');
if (executablePath === undefined) {
  noteSkip('the reference in a browser', 'put chromium on the PATH, with Debian `apt-get install chromium`.');
}

describe.skipIf(executablePath === undefined)('the reference, in a browser', () => {
  let folder: string;
  let started: StartedByNpm | undefined;
  let browser: Browser;
  let origin: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sotto-reference-'));
    started = await npmStart(folder, {
      CONTROL_PORT: String(await freePort()),
      CONFIDENTIAL_PORT: String(await freePort()),
    });
    origin = new URL(started.quickstart.control_url).origin;
    browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] });
  });
  afterAll(async () => {
    await browser?.close();
    await started?.end('SIGTERM');
    await rm(folder, { recursive: true, force: true });
  });

  const open = async (width: number, options: object = {}): Promise<{ page: Page; seen: string[]; said: string[] }> => {
    const page = await browser.newPage({ viewport: { width, height: 900 }, ...options });
    const seen: string[] = [];
    const said: string[] = [];
    page.on('request', (request) => seen.push(request.url()));
    page.on('console', (message) => said.push(message.text()));
    page.on('pageerror', (error) => said.push(String(error)));
    await page.goto(`${origin}/v1/docs`);
    return { page, seen, said };
  };

  it.each([360, 1280])(
    'at %i pixels: is styled, loads nothing else, logs no errors, never scrolls sideways',
    async (width) => {
      const { page, seen, said } = await open(width);
      // Opens every answer, because tables and examples in them have the widest lines.
      await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      expect(await page.evaluate("getComputedStyle(document.querySelector('.method')).borderTopStyle")).toBe('solid');
      expect(seen.filter((url) => !url.endsWith('/favicon.ico'))).toEqual([`${origin}/v1/docs`]);
      expect(said.filter((line) => !line.includes('favicon'))).toEqual([]);
      await page.close();
    },
  );

  it('works without scripts, and follows the color scheme', async () => {
    const backgrounds = new Set<unknown>();
    for (const colorScheme of ['light', 'dark']) {
      const { page } = await open(1280, { javaScriptEnabled: false, colorScheme });
      await page.getByRole('link', { name: 'Create a chat completion', exact: true }).first().click();
      expect(page.url()).toMatch(/#o2-createChatCompletion$/);
      await page.locator('#o2-createChatCompletion summary').click();
      expect(await page.locator('#o2-createChatCompletion dl').isVisible()).toBe(true);
      backgrounds.add(
        await page
          .screenshot({ clip: { x: 1270, y: 0, width: 1, height: 1 } })
          .then((image) => image.toString('base64')),
      );
      await page.close();
    }
    expect(backgrounds.size).toBe(2);
  });

  it('can be used by keyboard: past the contents, into examples', async () => {
    const { page } = await open(360);
    const focused = (what: string) => page.evaluate(`document.activeElement.${what}`);
    await page.keyboard.press('Tab');
    expect(await focused('className')).toBe('skip');
    await page.keyboard.press('Enter');
    for (let presses = 0; presses < 20 && (await focused('tagName')) !== 'PRE'; presses += 1)
      await page.keyboard.press('Tab');
    expect(await focused('tagName')).toBe('PRE');
    expect(await focused("closest('main') !== null")).toBe(true);
    await page.close();
  });

  it('is linked from the first page', async () => {
    const page = await browser.newPage();
    await page.goto(origin);
    await page.getByRole('link', { name: '/v1/docs' }).click();
    expect(await page.title()).toBe('Sotto: API reference');
    await page.close();
  });

  it('is allowed to do nothing except show itself', async () => {
    const { headers } = await fetch(`${origin}/v1/docs`);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/]+='; /);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });
});
