import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { creditAccount } from '@sotto/control';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { startWorld, type World } from '../../contract/conformance/world.ts';
import { describeInBothPlanes } from '../../kit/both-planes.ts';
import { onPath } from '../../kit/on-path.ts';
import { answerChat } from '../../kit/provider.ts';
import { hasSharedRedis, redisSkipReason } from '../../kit/redis.ts';
import type { Service } from '../../kit/service.ts';
import { noteSkip } from '../../kit/skips.ts';

/** What somebody signs in with. */
export type SignInAs = Pick<Person, 'email' | 'password'>;

/** Somebody with an account and money, who is not signed in anywhere yet. */
export interface Person {
  readonly email: string;
  readonly password: string;
  readonly accountId: string;
}

export interface OpenOptions {
  /** Signs them in first. */
  readonly as?: SignInAs;
  /** CSS pixels; default 1280. */
  readonly width?: number;
  readonly theme?: 'light' | 'dark';
  /** An origin of somebody else's that the browser is sent on to. */
  readonly leadsTo?: string;
}

/** The running service with a browser in front of it; only within tests and hooks. */
export interface Stage {
  readonly service: Service;
  readonly world: World;
  /** The control origin, without `/v1`. */
  readonly origin: string;
  /** Signs up; with so many USD. Default: 10. */
  person(usd?: number): Promise<Person>;
  /** Opens a page in a browser of its own (no cookies shared), at a path such as `/keys`. */
  open(path: string, options?: OpenOptions): Promise<Page>;
}

export interface DashboardOptions {
  /** How control is called; default 127.0.0.1. Passkeys need a name. */
  readonly controlHost?: 'localhost';
  /** Runs before the service and answers more of its environment. */
  readonly prepare?: () => Promise<Readonly<Record<string, string>>>;
}

const executablePath = onPath('chromium', 'chromium-browser', 'google-chrome');
const height = 900;

/**
 * Tests of the dashboard in a real browser, against the two processes on a real Redis (or one process without it). To be
 * awaited at the top level of a test file.
 */
export async function describeDashboard(
  name: string,
  tests: (stage: Stage) => void,
  { controlHost, prepare }: DashboardOptions = {},
): Promise<void> {
  if (!hasBrowser()) {
    describe.skip(name, () => tests(undefined as never));
    return;
  }
  if (!hasSharedRedis) noteSkip('the dashboard over two processes on a real Redis', redisSkipReason);
  let world: World | undefined;
  await describeInBothPlanes(
    name,
    async () => {
      world = await startWorld(answerChat);
      const { registry, catalog } = world;
      const environment = {
        ACME_API_KEY: 'acme-key',
        IMAGE_GENERATION: 'on',
        SPEECH_SYNTHESIS: 'on',
        BILLING_TEST_RAIL: 'on',
        CONNECTED_APPS: 'on',
        ATTESTATION: 'simulated',
        ...(await prepare?.()),
      };
      return { registry, catalog, environment, controlHost, enclaves: 'assumed', stop: async () => world?.stop() };
    },
    (planes) => {
      const browser = useBrowser(() => ({
        control: new URL(planes.service.controlUrl).origin,
        broker: new URL(planes.service.baseUrl).origin,
      }));
      tests({
        get service() {
          return planes.service;
        },
        get world() {
          if (world === undefined) throw new Error('the world is there within tests and hooks only');
          return world;
        },
        get origin() {
          return new URL(planes.service.controlUrl).origin;
        },
        person: (usd = 10) => signUp(planes.service, usd),
        open: browser.open,
      });
    },
    { planes: [hasSharedRedis ? 'two' : 'one'] },
  );
}

/**
 * A browser for the tests of the present suite, and what it holds them to: a page that wrote an error to its console, broke
 * its content security policy or asked another origin fails the test that opened it.
 */
export function useBrowser(origins: () => { readonly control: string; readonly broker: string }): Pick<Stage, 'open'> {
  let browser: Browser | undefined;
  const contexts: BrowserContext[] = [];
  const complaints: string[] = [];
  beforeAll(async () => {
    if (executablePath === undefined) throw new Error('no browser');
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  });
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
    expect(complaints.splice(0)).toEqual([]);
  });
  afterAll(() => browser?.close());
  return {
    async open(path, { as, width = 1280, theme = 'light', leadsTo } = {}) {
      if (browser === undefined) throw new Error('the browser is there within tests and hooks only');
      const { control, broker } = origins();
      const context = await browser.newContext({
        baseURL: control,
        viewport: { width, height },
        colorScheme: theme,
        locale: 'en-US',
        timezoneId: 'UTC',
        reducedMotion: 'reduce',
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      contexts.push(context);
      context.setDefaultTimeout(20_000);
      if (as !== undefined) await signIn(context, as);
      const page = await context.newPage();
      listen(page, [control, broker, ...(leadsTo === undefined ? [] : [leadsTo])], complaints);
      await page.goto(path);
      return page;
    },
  };
}

/** Whether there is a browser; where there is none the run says so. */
export function hasBrowser(): boolean {
  if (executablePath === undefined) {
    noteSkip('the dashboard in a browser', 'put chromium on the PATH, with Debian `apt-get install chromium`.');
  }
  return executablePath !== undefined;
}

async function signUp({ controlUrl, pool }: Service, usd: number): Promise<Person> {
  const [email, password] = [`${randomUUID().slice(0, 8)}@people.example`, `pw-${randomUUID()}`];
  const answer = await postJson(`${controlUrl}/auth/sign-up/email`, { name: 'Ann Example', email, password });
  expect(answer.status).toBe(200);
  // What a link in a mail would do.
  const { rows } = await pool.query<{ id: string }>(
    `with verified as (update auth_user set email_verified = true where email = $1 returning id)
     select a.id from accounts a join verified v on v.id = a.user_id`,
    [email],
  );
  const accountId = rows[0]?.id ?? '';
  if (usd > 0) {
    const amountNusd = BigInt(Math.round(usd * 1e9));
    await creditAccount(pool, { accountId, amountNusd, kind: 'top_up', reference: `test:${accountId}` });
  }
  return { email, password, accountId };
}

async function signIn(context: BrowserContext, { email, password }: SignInAs): Promise<void> {
  const answer = await context.request.post('/v1/auth/sign-in/email', { data: { email, password } });
  expect(answer.status(), await answer.text()).toBe(200);
}

const postJson = (url: string, body: object): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

/** An answer of 4xx is written to the console by the browser itself; tests of refusals cause them on purpose. */
const isStatusLine = (text: string): boolean => text.startsWith('Failed to load resource: the server responded with');

function listen(page: Page, allowedOrigins: readonly string[], complaints: string[]): void {
  page.on('console', (message) => {
    if (message.type() === 'error' && !isStatusLine(message.text())) complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`thrown: ${error.message}`));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && !allowedOrigins.includes(url.origin)) {
      complaints.push(`asked another origin: ${url.origin}`);
    }
  });
}

/** Runs axe over what is shown; WCAG 2.2 A and AA, and its best practices. Fails with what it found. */
export async function expectAccessible(page: Page): Promise<void> {
  // By the protocol, which the page's own policy does not bind.
  await page.evaluate(`${axe.source}; undefined`);
  const found = await page.evaluate<readonly string[]>(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
      violations.map(({ id, help, nodes }) => id + ': ' + help + ' at ' + nodes.map(({ target }) => target.join(' ')).join(' | ')))`,
  );
  expect(found, page.url()).toEqual([]);
}

/** With SOTTO_SHOTS, a folder: keeps a picture of the whole page there, for people to look at. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env.SOTTO_SHOTS;
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

const looks = [
  { width: 360, theme: 'light' },
  { width: 360, theme: 'dark' },
  { width: 1280, theme: 'light' },
  { width: 1280, theme: 'dark' },
] as const;

export interface Look {
  readonly name: string;
  readonly path: string;
  readonly as?: SignInAs;
  /** Waits until what matters is shown. */
  readonly shown: (page: Page) => Promise<unknown>;
}

/** Opens a page at two widths in both themes: axe finds nothing, nothing is wider than the screen; a picture of each. */
export async function expectGoodLooks(stage: Pick<Stage, 'open'>, { name, path, as, shown }: Look): Promise<void> {
  for (const { width, theme } of looks) {
    const page = await stage.open(path, { width, theme, ...(as === undefined ? {} : { as }) });
    await shown(page);
    await keepPicture(page, `${name}-${width}-${theme}`);
    await expectAccessible(page);
    const overflow = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    expect(overflow, `${path} at ${width} px is wider than the screen`).toBeLessThanOrEqual(0);
    await page.context().close();
  }
}

/** A device of the browser's that keeps passkeys and verifies its owner, who agrees at once. */
export async function addAuthenticator(page: Page): Promise<void> {
  const protocol = await page.context().newCDPSession(page);
  await protocol.send('WebAuthn.enable');
  await protocol.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}
