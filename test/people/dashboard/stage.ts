/** The dashboard needs a browser in front of the service, which fails the test of a page that misbehaves. */

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CreateKey } from '@sotto/contract/control/keys';
import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';
import { hasSharedRedis, noteSkip, redisSkipReason } from '@sotto/test-servers';
import axe from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { showEarlierCode } from '../../kit/authenticator.ts';
import { hasChromium, launchChromium } from '../../kit/chromium.ts';
import { acme } from '../../kit/conformance.ts';
import type { Service } from '../../kit/service.ts';
import { type SignedUp, signedUp } from '../../kit/signed-up.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import type { StageSpec } from '../../kit/stage/spec.ts';
import type { Stage as ServiceStage } from '../../kit/stage/stage.ts';

/** The credentials of a person. */
export type SignInAs = Pick<SignedUp, 'email' | 'password'>;

export interface OpenOptions {
  /** Signs in this person first. */
  readonly as?: SignInAs;
  /** CSS pixels. Default: 1280. */
  readonly width?: number;
  readonly theme?: 'light' | 'dark';
  /** A foreign origin that the browser is redirected to. */
  readonly leadsTo?: string;
}

/** The running service with a browser in front of it. Use it only within tests and hooks. */
export interface Stage extends Pick<ServiceStage, 'service' | 'provider' | 'reset'> {
  /** The control origin, without `/v1`. */
  readonly origin: string;
  /** A person with an account and this many USD who is not signed in anywhere yet. Default: 10. */
  person(usd?: number): Promise<SignedUp>;
  /** Opens a page in a new browser context (no shared cookies), at a path such as `/keys`. */
  open(path: string, options?: OpenOptions): Promise<Page>;
}

export interface DashboardOptions extends Pick<StageSpec, 'controlHost'> {
  /** Runs before the service starts. Resolves to more environment variables for it. */
  readonly prepare?: () => Promise<Readonly<Record<string, string>>>;
}

const height = 900;

/**
 * Declares tests of the dashboard in a real browser, against two processes on a real Redis, or one process without
 * Redis. Await it at the top level of a test file.
 */
export async function describeDashboard(
  name: string,
  tests: (stage: Stage) => void,
  { controlHost, prepare }: DashboardOptions = {},
): Promise<void> {
  const able = hasBrowser();
  if (able && !hasSharedRedis) noteSkip('the dashboard over two processes on a real Redis', redisSkipReason);
  await describeStage(
    name,
    async () => ({
      ...acme,
      controlHost,
      features: ['images', 'speech', 'test payments', 'connected apps', 'evidence'],
      environment: { ...acme.environment, ...(await prepare?.()) },
    }),
    (stage) => {
      const origins = () => ({
        control: new URL(stage.service.controlUrl).origin,
        broker: new URL(stage.service.baseUrl).origin,
      });
      tests({
        get service() {
          return stage.service;
        },
        get origin() {
          return origins().control;
        },
        provider: stage.provider,
        reset: stage.reset,
        person: (usd = 10) => signUp(stage.service, usd),
        open: useBrowser(origins).open,
      });
    },
    { able },
  );
}

/**
 * Opens a browser for the tests of the current suite and checks every page. A page fails its test if it writes an error
 * to its console, breaks its content security policy, or sends a request to another origin.
 *
 * @param wrapped - Returns the program to start for the browser's own.
 */
export function useBrowser(
  origins: () => { readonly control: string; readonly broker: string },
  wrapped?: (program: string) => string | Promise<string>,
): Pick<Stage, 'open'> {
  let browser: Browser | undefined;
  const contexts: BrowserContext[] = [];
  const complaints: string[] = [];
  beforeAll(async () => {
    browser = await launchChromium(wrapped);
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

export const hasBrowser = (): boolean => hasChromium('the dashboard in a browser');

async function signUp({ pool, credit }: Service, usd: number): Promise<SignedUp> {
  const email = `${randomUUID().slice(0, 8)}@people.example`;
  const person = await signedUp(pool, { email, name: 'Ann Example', isVerified: true });
  if (usd > 0) await credit(person.accountId, usd);
  return person;
}

async function signIn(context: BrowserContext, { email, password }: SignInAs): Promise<void> {
  const answer = await context.request.post('/v1/auth/sign-in/email', { data: { email, password } });
  expect(answer.status(), await answer.text()).toBe(200);
}

/** The browser itself writes answers of 4xx, broken streams, and servers that have ended, to the console. Tests cause all on purpose. */
const isCausedByTest = (text: string): boolean =>
  /^Failed to load resource: (?:the server responded with|net::ERR_(?:CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING))/.test(
    text,
  );

function listen(page: Page, allowedOrigins: readonly string[], complaints: string[]): void {
  page.on('console', (message) => {
    if (message.type() === 'error' && !isCausedByTest(message.text())) complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`thrown: ${error.message}`));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && !allowedOrigins.includes(url.origin)) {
      complaints.push(`asked another origin: ${url.origin}`);
    }
  });
}

/** Runs axe on the shown page, with WCAG 2.2 A and AA and its best practices. Fails with its findings. */
export async function expectAccessible(page: Page): Promise<void> {
  // Uses the browser's protocol, because the page's content security policy does not apply to it.
  await page.evaluate(`${axe.source}; undefined`);
  const found = await page.evaluate<readonly string[]>(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
      violations.map(({ id, help, nodes }) => id + ': ' + help + ' at ' + nodes.map(({ target }) => target.join(' ')).join(' | ')))`,
  );
  expect(found, page.url()).toEqual([]);
}

/** If SOTTO_SHOTS names a folder, saves a picture of the whole page there for people to review. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env.SOTTO_SHOTS;
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

export interface Look {
  readonly name: string;
  readonly path: string;
  readonly as?: SignInAs;
  /** CSS pixels. Default: 360 and 1280. */
  readonly widths?: readonly number[];
  /** Waits until the important content is shown. */
  readonly shown: (page: Page) => Promise<unknown>;
}

/**
 * Opens a page at two widths, switches it to each theme and takes a picture of each. axe must find nothing, and nothing
 * may be wider than the screen. Text may be cut off where it shows whole on hover, and may not leave its cell or link.
 */
export async function expectGoodLooks(
  stage: Pick<Stage, 'open'>,
  { name, path, as, widths = [360, 1280], shown }: Look,
): Promise<void> {
  for (const width of widths) {
    const page = await stage.open(path, { width, theme: 'light', ...(as === undefined ? {} : { as }) });
    await shown(page);
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme });
      // Rows out of sight, which are not drawn, keep the colors of the other theme until they come into sight.
      await page.evaluate(`(async () => {
        const frame = () => new Promise(requestAnimationFrame);
        for (const y of [document.documentElement.scrollHeight / 2, document.documentElement.scrollHeight, 0]) {
          window.scrollTo(0, y);
          for (let drawn = 0; drawn < 3; drawn += 1) await frame();
        }
      })()`);
      await keepPicture(page, `${name}-${width}-${theme}`);
      await expectAccessible(page);
      expect(await overflowOf(page), `${path} at ${width} px is wider than the screen`).toBeLessThanOrEqual(0);
      expect(await cutTexts(page), `${path} at ${width} px`).toEqual([]);
    }
    await page.context().close();
  }
}

/** By how many CSS pixels the page is wider than the screen. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

/** The texts on the page that are cut off and not shown on hover, or that stand out of their cell or link. */
const cutTexts = (page: Page): Promise<readonly string[]> =>
  page.evaluate<
    readonly string[]
  >(`[...document.querySelectorAll('main :not(input, select, .sr-only)')].filter((element) => {
    const { textOverflow, overflowX, display } = getComputedStyle(element);
    if (element.scrollWidth <= element.clientWidth + 1 || display === 'inline') return false;
    if (textOverflow === 'ellipsis') return element.closest('[title]') === null;
    return overflowX === 'visible' && element.matches('a, td, dd, li, p');
  }).map(({ textContent }) => textContent)`);

/** The heading of a page, as `getByRole` takes it. */
export const heading = (name: string | RegExp) => ({ level: 1, name }) as const;

/** Runs a command as a person who copied it. Resolves to what it prints. */
export const shell = (command: string, env: NodeJS.ProcessEnv = process.env): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile('sh', ['-ec', command], { env }, (error, stdout) => (error === null ? resolve(stdout) : reject(error)));
  });

/** Fills in the form that signs up, and sends it. */
export async function signUpBy(page: Page, name: string, { email, password }: SignInAs): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Create account' }).click();
}

/** Fills in the form that signs in, and sends it. */
export async function signInBy(page: Page, { email, password }: SignInAs): Promise<void> {
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** Holds back the requests of a page to some addresses until the returned function is called. */
export async function holdBack(page: Page, addresses: string): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(addresses, async (route) => {
    await promise;
    await route.continue();
  });
  return resolve;
}

/** Creates a key with the session of a page: an inference key, if the body does not say otherwise. */
export async function createKey({ request }: Page, body: Pick<CreateKey, 'name'> & Partial<CreateKey>) {
  const answer = await request.post('/v1/keys', { data: { kind: 'inference', ...body } });
  expect(answer.status(), await answer.text()).toBe(201);
  return (await answer.json()) as { readonly id: string; readonly workspace_id: string; readonly key: string };
}

/** Creates a workspace with the session of a page. Resolves to its id. */
export async function createWorkspace({ request }: Page, name: string): Promise<string> {
  const answer = await request.post('/v1/workspaces', { data: { name } });
  expect(answer.status(), await answer.text()).toBe(201);
  return ((await answer.json()) as { id: string }).id;
}

/** Invites an address to a workspace with the session of a page. Resolves to the token of the link. */
export async function invite({ request }: Page, id: string, email: string, role: WorkspaceRole): Promise<string> {
  const answer = await request.post(`/v1/workspaces/${id}/invitations`, { data: { email, role } });
  expect(answer.status(), await answer.text()).toBe(201);
  return ((await answer.json()) as { token: string }).token;
}

/** Accepts an invitation with the session of a page. */
export async function accept({ request }: Page, token: string): Promise<void> {
  const answer = await request.post('/v1/invitations/accept', { data: { token } });
  expect(answer.status(), await answer.text()).toBe(200);
}

/** Adds a virtual authenticator that stores passkeys and verifies its owner, who agrees at once. */
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

/** Enrolls an authenticator app for the person of a page. Returns its address. */
export async function enrol({ request }: Page, { password }: Pick<SignedUp, 'password'>): Promise<string> {
  const enabled = await request.post('/v1/auth/two-factor/enable', { data: { password } });
  const { totpURI: uri } = (await enabled.json()) as { totpURI: string };
  const show = async (code: string) =>
    (await request.post('/v1/auth/two-factor/verify-totp', { data: { code } })).status();
  expect(await showEarlierCode(uri, show)).toBe(200);
  return uri;
}
