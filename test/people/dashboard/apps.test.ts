import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { type AppAnswer, appAnswerSchema, type CreateApp } from '@sotto/contract/control/connect';
import { freePort } from '@sotto/test-servers';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask, bearer } from '../../kit/client.ts';
import { clientOf, exchange, start } from '../../kit/connected-apps.ts';
import { get } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';
import type { SignedUp } from '../../kit/signed-up.ts';
import { thoroughly } from '../../kit/thoroughly.ts';
import {
  describeDashboard,
  expectAccessible,
  expectGoodLooks,
  keepPicture,
  type Stage,
  signInBy,
  signUpBy,
} from './stage.ts';

/** The app's own server, to which browsers return. */
const appPort = await freePort();
const appOrigin = `http://127.0.0.1:${appPort}`;
const redirect = `${appOrigin}/callback`;
const elsewhere = { leadsTo: appOrigin };

const asked: CreateApp = {
  name: 'Notebook',
  homepage: 'https://notebook.example',
  type: 'confidential',
  redirect_uris: [redirect],
  scopes: ['openid', 'email', 'inference', 'usage:read'],
};

async function register(page: Page, more: Partial<CreateApp> = {}): Promise<AppAnswer> {
  const answer = await page.request.post('/v1/connect/apps', { data: { ...asked, ...more } });
  expect(answer.status(), await answer.text()).toBe(201);
  return appAnswerSchema.parse(await answer.json());
}

/** An app whose owner needs to do nothing more. */
async function somebodysApp(stage: Stage, more: Partial<CreateApp> = {}): Promise<AppAnswer> {
  const page = await stage.open('/', { as: await stage.person(0) });
  return register(page, more);
}

/** Begins an app's request. Resolves to the address that the app sends a browser to. */
async function begin(stage: Stage, app: AppAnswer, parameters: Record<string, string> = {}) {
  const client = await clientOf(stage.service, app);
  const started = await start(client, { redirect_uri: redirect, ...parameters });
  return { client, started, path: started.url.slice(stage.origin.length) };
}

const back = (page: Page) => page.waitForURL((url) => url.origin === appOrigin);

async function use({ service }: Stage, token: string): Promise<void> {
  const { status } = await ask(service, token, { model: 'acme/small' }, { flow: 'ticket' });
  expect(status).toBe(200);
}

/** A person with one app that has made requests, and another that was disconnected. */
async function personWithApps(stage: Stage): Promise<SignedUp> {
  const person = await stage.person();
  for (const [name, ends] of [
    ['A notebook with quite a long name', false],
    ['Diary', true],
  ] as const) {
    const app = await somebodysApp(stage, { name });
    const { client, started, path } = await begin(stage, app);
    const page = await stage.open(path, { as: person, ...elsewhere });
    await page.getByRole('button', { name: 'Allow' }).click();
    await back(page);
    const { access_token: token } = await exchange(client, started, page.url());
    await use(stage, token);
    const grants = async () =>
      (await (await page.request.get(`${stage.origin}/v1/connect/grants`)).json()) as {
        data: { id: string; app: { id: string }; spent_usd: number }[];
      };
    const grant = async () => (await grants()).data.find((each) => each.app.id === app.id);
    await until(async () => ((await grant())?.spent_usd ?? 0) > 0, 'it is booked');
    if (ends) await page.request.delete(`${stage.origin}/v1/connect/grants/${(await grant())?.id}`);
  }
  return person;
}

await describeDashboard('connected apps', (stage) => {
  let server: Server;
  beforeAll(async () => {
    server = createServer((_request, response) =>
      response.setHeader('content-type', 'text/html').end('<title>App</title>'),
    );
    await new Promise<void>((resolve) => server.listen(appPort, '127.0.0.1', resolve));
  });
  afterAll(() => void server?.close());

  it('are allowed after signing in, within a limit, and shown with their spending, and disconnected', async () => {
    const person = await stage.person();
    const { client, started, path } = await begin(stage, await somebodysApp(stage));
    const page = await stage.open(path, elsewhere);
    await signInBy(page, person);
    await page.getByRole('heading', { name: 'Connect Notebook?' }).waitFor();
    await page.getByText('See your email address.').waitFor();
    await page.getByText('This service has not checked who runs this app.').waitFor();
    expect(await page.getByLabel('Spending limit ($)').inputValue()).toBe('5');
    await page.getByLabel('Spending limit ($)').fill('2.50');
    await page.getByRole('button', { name: 'Allow Notebook' }).click();
    await back(page);
    const tokens = await exchange(client, started, page.url());
    await use(stage, tokens.access_token);

    await page.goto(`${stage.origin}/apps`);
    const menu = page.getByRole('button', { name: 'Actions for Notebook' });
    await menu.waitFor();
    await until(async () => {
      await page.reload();
      const table = page.getByRole('table', { name: 'Active connections' });
      await table.waitFor();
      return /\$0\.0\d+ of \$2\.50/.test((await table.textContent()) ?? '');
    }, 'what it spent is shown');
    // Its key has a tag, which is changed here and beside the keys of the workspace.
    await menu.click();
    await page.getByRole('menuitem', { name: 'Change tag' }).click();
    const dialog = page.getByRole('dialog', { name: 'Tag of “Notebook”' });
    await dialog.getByLabel('Tag').fill('Cost centre 7');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Tag: Cost centre 7').waitFor();
    await page.getByRole('link', { name: 'Keys', exact: true }).first().click();
    const held = page.getByRole('table', { name: 'Keys of connected apps' }).getByRole('row', { name: 'Notebook' });
    await expect.poll(() => held.textContent()).toContain('Cost centre 7');
    await held.getByRole('button', { name: 'Change tag Notebook' }).click();
    // What is saved unchanged stays.
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await held.getByRole('button', { name: 'Change tag Notebook' }).click();
    await dialog.getByLabel('Tag').fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => held.textContent()).toContain('–');
    await expectAccessible(page);
    await page.goto(`${stage.origin}/apps`);
    await menu.click();
    await page.getByRole('menuitem', { name: 'Disconnect' }).click();
    await expectAccessible(page);
    await page.getByRole('alertdialog').getByRole('button', { name: 'Disconnect' }).click();
    await page.getByText('No connected apps').waitFor();
    await page.getByRole('table', { name: 'Past connections' }).getByText('Notebook', { exact: true }).waitFor();
    expect((await get(`${stage.service.controlUrl}/models`, bearer(tokens.access_token))).status).toBe(401);
  });

  it('are denied, by keyboard alone', async () => {
    const { path } = await begin(stage, await somebodysApp(stage));
    const page = await stage.open(path, { as: await stage.person(0), ...elsewhere });
    await page.getByLabel('Workspace', { exact: true }).focus();
    for (const next of ['Spending limit ($)', 'No limit']) {
      await page.keyboard.press('Tab');
      expect(await page.locator(':focus').getAttribute('id')).toBe(await page.getByLabel(next).getAttribute('id'));
    }
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await back(page);
    expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied');
  });

  it('get no limit by accident, and only the one that was typed', async () => {
    const { path } = await begin(stage, await somebodysApp(stage));
    const page = await stage.open(path, { as: await stage.person(0), ...elsewhere });
    const limit = page.getByLabel('Spending limit ($)');
    for (const typed of ['', ' ', 'a lot']) {
      await limit.fill(typed);
      await page.getByRole('button', { name: 'Allow Notebook' }).click();
      await page.getByText('An amount in $, such as 5 or 12.50.').waitFor();
      expect(await limit.inputValue()).toBe(typed);
      await page.reload();
    }
    await page.getByLabel('No limit').check();
    await page.getByRole('button', { name: 'Allow Notebook' }).click();
    await back(page);
    const { data } = (await (await page.request.get(`${stage.origin}/v1/connect/grants`)).json()) as {
      data: { credit_limit_usd: number | null }[];
    };
    expect(data.map(({ credit_limit_usd: usd }) => usd)).toEqual([null]);
  });

  it('that request only an identity get no money to spend, and no choice of it', async () => {
    const { path } = await begin(stage, await somebodysApp(stage, { scopes: ['openid'] }), { scope: 'openid' });
    const page = await stage.open(path, { as: await stage.person(0), ...elsewhere });
    await page.getByRole('heading', { name: 'Connect Notebook?' }).waitFor();
    expect(await page.getByLabel('Spending limit ($)').count()).toBe(0);
    expect(await page.getByLabel('Workspace', { exact: true }).count()).toBe(0);
    await page.getByRole('button', { name: 'Allow Notebook' }).click();
    await back(page);
    await page.goto(`${stage.origin}/apps`);
    await page.getByText('May not spend').waitFor();
  });

  it('may require a new sign-in, which brings people back', async () => {
    const person = await stage.person(0);
    const page = await stage.open('/', { as: person, ...elsewhere });
    // Sessions begin at a whole second. The request must come in a later second.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const { path } = await begin(stage, await somebodysApp(stage), { prompt: 'login' });
    await page.goto(path);
    await page.getByRole('button', { name: 'Sign in again' }).click();
    await signInBy(page, person);
    await page.getByRole('button', { name: 'Allow Notebook' }).click();
    await back(page);
    expect(new URL(page.url()).searchParams.get('code')).not.toBeNull();
  });

  it('wait for a person who signs up first', async () => {
    const { path } = await begin(stage, await somebodysApp(stage));
    const page = await stage.open(path, elsewhere);
    const main = page.getByRole('main');
    await main.getByRole('link', { name: 'Sign up' }).click();
    const email = `${randomUUID().slice(0, 8)}@people.example`;
    await signUpBy(page, 'Ben New', { email, password: 'a long password' });
    await page.getByRole('button', { name: 'Allow Notebook' }).click();
    await back(page);
  });

  it('cannot have a request answered that began in another browser', async () => {
    const { path } = await begin(stage, await somebodysApp(stage));
    const attacker = await stage.open(path, { as: await stage.person(0) });
    await attacker.getByRole('heading', { name: 'Connect Notebook?' }).waitFor();
    const victim = await stage.open(attacker.url().slice(stage.origin.length), { as: await stage.person(0) });
    await victim.getByText('There is no such request in this browser').waitFor();
    await expectAccessible(victim);
    expect(await victim.getByRole('button', { name: 'Allow' }).count()).toBe(0);
  });

  it('are registered, changed, given another secret and disabled by their developers', async () => {
    const page = await stage.open('/apps', { as: await stage.person(0) });
    await page.getByText('No connected apps').waitFor();
    await page.getByRole('tab', { name: 'For developers' }).click();
    await page.getByText('No apps registered').waitFor();
    await page.getByRole('button', { name: 'Register an app' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Notebook');
    await dialog.getByLabel('Homepage').fill('https://notebook.example');
    await dialog.getByLabel('Redirect URIs').fill('http://notebook.example/callback');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Register' }).click();
    await dialog.getByText(/must be an https address/).waitFor();
    // The refused field has the focus, so that it is in sight.
    expect(await dialog.locator('textarea:focus').getAttribute('aria-invalid')).toBe('true');
    expect(await dialog.getByLabel('Name').inputValue()).toBe('Notebook');
    // The service's error is about what was sent then.
    await dialog.getByLabel('Name').fill('  ');
    await dialog.getByRole('button', { name: 'Register' }).click();
    await dialog.getByText('Fill in this field.').waitFor();
    expect(await dialog.getByText(/must be an https address/).count()).toBe(0);
    await dialog.getByLabel('Name').fill('Notebook');
    await dialog.getByLabel('Redirect URIs').fill(`${redirect}\nhttp://127.0.0.1:3000/callback`);
    await dialog.getByRole('button', { name: 'Register' }).click();
    await page.getByRole('dialog', { name: 'Notebook is ready' }).waitFor();
    const first = (await page.getByText(/^sotto_app_/).textContent()) ?? '';
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Copy secret' }).click();
    await dialog.getByRole('button', { name: 'Done' }).click();
    expect(await page.getByText(first).count()).toBe(0);

    const menu = page.getByRole('button', { name: 'Actions for Notebook' });
    await menu.click();
    await page.getByRole('menuitem', { name: 'Change' }).click();
    const access = dialog.getByRole('group', { name: 'Access that it may request' });
    const requested = access.getByRole('checkbox', { checked: true });
    await requested.first().waitFor();
    while ((await requested.count()) > 0) await requested.first().click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await access.and(page.locator('[aria-describedby]')).getByText('Choose at least one.').waitFor();
    await access.locator('input[aria-invalid=true]:focus').check();
    await dialog.getByLabel('Name').fill('  ');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Fill in this field.').waitFor();
    await page.getByRole('dialog').getByLabel('Name').fill('Notebook 2');
    await page.getByRole('dialog').getByLabel('Redirect URIs').fill(redirect);
    await page.getByText('must allow it again').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('table', { name: 'Your apps' }).getByText('Notebook 2').waitFor();
    expect(await page.getByText('http://127.0.0.1:3000/callback').count()).toBe(0);

    await page.getByRole('button', { name: 'Actions for Notebook 2' }).click();
    await page.getByRole('menuitem', { name: 'New secret' }).click();
    const refusal = { error: { type: 'forbidden', message: 'This app cannot get a new secret.' } };
    await page.route('**/rotate-secret', (route) => route.fulfill({ status: 403, json: refusal }), { times: 1 });
    await dialog.getByRole('button', { name: 'Create a new secret' }).click();
    await dialog.getByRole('alert').getByText(refusal.error.message).waitFor();
    await dialog.getByRole('button', { name: 'Create a new secret' }).click();
    const second = (await page.getByText(/^sotto_app_/).textContent()) ?? '';
    expect(second).not.toBe(first);
    await dialog.getByRole('button', { name: 'Copy secret' }).click();
    await dialog.getByRole('button', { name: 'Done' }).click();

    await page.getByRole('button', { name: 'Actions for Notebook 2' }).click();
    await page.getByRole('menuitem', { name: 'Disable' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click();
    await page.getByText('No apps registered').waitFor();
  });

  it('report a failure to load, and try again', async () => {
    const page = await stage.open('/', { as: await stage.person(0) });
    const failing = '**/v1/connect/{grants,apps}';
    const refusal = { error: { message: 'It is being mended.', type: 'service_unavailable', request_id: 'req_x' } };
    await page.route(failing, (route) => route.fulfill({ status: 400, json: refusal }));
    await page.goto('/apps');
    await page.getByText('It is being mended.').waitFor();
    await page.unroute(failing);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('No connected apps').waitFor();
  });

  it('are shown as off if they are off', async () => {
    const page = await stage.open('/', { as: await stage.person(0) });
    await page.route('**/v1/capabilities', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...(await answer.json()), connected_apps: { enabled: false } } });
    });
    for (const path of ['/apps', '/connect/consent?uid=x']) {
      await page.goto(path);
      await page.getByText('Apps cannot connect here').first().waitFor();
      await expectAccessible(page);
    }
    expect(await page.getByRole('link', { name: 'Connected apps' }).count()).toBe(0);
  });

  thoroughly('look well to whoever has connected them', async () => {
    await expectGoodLooks(stage, {
      name: 'apps',
      path: '/apps',
      as: await personWithApps(stage),
      shown: (open) => open.getByText('Past connections', { exact: true }).first().waitFor(),
    });
  });

  thoroughly('ask on a page that looks well', async () => {
    const { path } = await begin(stage, await somebodysApp(stage));
    await expectGoodLooks(stage, {
      name: 'consent',
      path,
      as: await stage.person(),
      shown: (open) => open.getByRole('button', { name: 'Allow Notebook' }).waitFor(),
    });
  });

  thoroughly('look well to their developers', async () => {
    const developer = await stage.person(0);
    const page = await stage.open('/apps', { as: developer });
    await register(page, { name: 'My own app', redirect_uris: [redirect, 'http://127.0.0.1:3000/callback'] });
    await register(page, { name: 'Another', type: 'public' });
    await expectGoodLooks(stage, {
      name: 'apps-developer',
      path: '/apps?view=developer',
      as: developer,
      shown: (open) => open.getByText('My own app').waitFor(),
    });
    for (const width of [360, 1280]) {
      const open = await stage.open('/apps?view=developer', { as: developer, width });
      await open.getByRole('button', { name: 'Register an app' }).click();
      await open.getByRole('dialog').waitFor();
      await keepPicture(open, `apps-register-${width}-light`);
      await expectAccessible(open);
    }
  });
});
