import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { StatusAnswer } from '@sotto/contract/control/catalog';
import { until } from '@sotto/test-servers';
import { type UsageError, usageErrorNotes } from '@sotto/wire';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { thoroughly } from '../../kit/thoroughly.ts';
import { createKey, describeDashboard, expectAccessible, expectGoodLooks, heading, shell } from './stage.ts';

const hourMs = 3_600_000;
const title = (page: Page, name: string) => page.getByRole('heading', heading(name));
const entry = (page: Page, list: string, name: string) =>
  page.getByRole('navigation', { name: list }).getByRole('link', { name, exact: true });

await describeDashboard('pages for everybody', (stage) => {
  it('/v1/docs leads there, without a session', async () => {
    const page = await stage.open('/v1/docs');
    await title(page, 'API reference').waitFor();
    expect(new URL(page.url()).pathname).toBe('/reference');
  });

  it('finds operations by path, field and error, and keeps the search in the address', async () => {
    const page = await stage.open('/reference');
    const search = page.getByRole('searchbox', { name: 'Search operations' });
    for (const [typed, name] of [
      ['/inference/tickets', 'Get a ticket'],
      ['overlap_hours', 'Rotate the secret of a key'],
      ['insufficient_balance embeddings', 'Create embeddings'],
    ] as const) {
      await search.fill(typed);
      await entry(page, 'Operations', name).waitFor();
    }
    await search.fill('no such thing at all');
    await page.getByText('No operation has these words.').waitFor();
    await search.fill('overlap_hours');
    await page.reload();
    expect(await search.inputValue()).toBe('overlap_hours');
    await expect.poll(() => entry(page, 'Operations', 'Get a ticket').count()).toBe(0);
    await entry(page, 'Operations', 'Rotate the secret of a key').click();
    await title(page, 'Rotate the secret of a key').waitFor();
    await page.getByText('overlap_hours', { exact: true }).first().waitFor();
    await expectAccessible(page);
    await page.goto('/reference?q=429');
    expect(await search.inputValue()).toBe('429');
  });

  it('shows a request in three languages with the address of this service, and remembers the choice', async () => {
    const person = await stage.person(3);
    const page = await stage.open('/keys', { as: person });
    const { key } = await createKey(page, { name: 'm', kind: 'management' });
    await page.goto('/reference/control/getBalance');
    const shown = async (): Promise<string> => {
      await page.getByRole('button', { name: 'Copy', exact: true }).first().click();
      return page.evaluate<string>('navigator.clipboard.readText()');
    };
    const commands: Record<string, (code: string) => [string, string[]]> = {
      curl: (code) => ['bash', ['-c', code]],
      JavaScript: (code) => [process.execPath, ['--input-type=module', '-e', code]],
    };
    for (const [language, commandFor] of Object.entries(commands)) {
      await page.getByRole('tab', { name: language }).click();
      const [program, args] = commandFor(await shown());
      const { stdout } = await promisify(execFile)(program, args, {
        env: { PATH: process.env.PATH ?? '', MANAGEMENT_KEY: key },
      });
      expect(JSON.parse(stdout), language).toMatchObject({ currency: 'USD', available: 3 });
    }
    await page.getByRole('tab', { name: 'Python' }).click();
    expect(await shown()).toContain('"Bearer " + os.environ["MANAGEMENT_KEY"]');
    await page.goto('/reference/control/createKey');
    await title(page, 'Create a key').waitFor();
    expect(await page.getByRole('tab', { name: 'Python' }).getAttribute('aria-selected')).toBe('true');
  });

  it('runs an operation with the session, and a request by the private flow with a key of its own', async () => {
    stage.reset();
    const person = await stage.person(3);
    const page = await stage.open('/reference/control/getBalance', { as: person });
    await page.getByRole('button', { name: 'Run' }).click();
    const answer = page.getByRole('region', { name: 'Answer', exact: true });
    await answer.getByText('"available": 3').waitFor();
    await expectAccessible(page);
    await page.goto('/reference/broker/createChatCompletion');
    const sent: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(stage.origin)) sent.push(`${request.headers().authorization ?? 'no key'}`);
    });
    await page.getByLabel('Continue with simulated evidence', { exact: false }).check();
    await page.getByLabel('Body', { exact: true }).fill('{"model": "acme/small"');
    await page.getByText('The body is not a JSON object.').waitFor();
    await page
      .getByLabel('Body', { exact: true })
      .fill('{"model":"acme/small","messages":[{"role":"user","content":"Hello"}]}');
    // The sample sends what is typed: with a key or, once it is chosen, with a ticket, which has a request of its own.
    const sample = page.locator('#request');
    await sample.getByText('"content":"Hello"').waitFor();
    await sample.getByText('$INFERENCE_KEY').waitFor();
    await sample.getByLabel('Sent with').selectOption({ label: 'a ticket' });
    await sample.getByText('$TICKET').waitFor();
    await sample.getByRole('link', { name: 'Get a ticket' }).waitFor();
    await page.getByRole('button', { name: 'Run' }).click();
    await answer.getByText('Hello there, this is a provider.', { exact: false }).waitFor();
    const [box, view] = [await answer.boundingBox(), page.viewportSize()];
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(view?.height ?? 0);
    expect(sent.length).toBeGreaterThan(0);
    expect(new Set(sent)).toEqual(new Set(['no key']));
    const { data } = (await (await page.request.get('/v1/keys')).json()) as { data: unknown[] };
    expect(data).toMatchObject([{ name: 'Playground', openai_compatible: false, credit_limit_usd: 1 }]);
    await page.goto('/reference/control/createKey');
    await title(page, 'Create a key').waitFor();
    expect(await page.getByRole('button', { name: 'Run' }).count()).toBe(0);
  });

  it('says that an operation does not exist, and what a plane that does not answer leaves out', async () => {
    const page = await stage.open('/reference/control/noSuchThing');
    await page.getByText('This version of the service does not have it.').waitFor();
    const broker = new URL(stage.service.baseUrl).origin;
    await page.route(`${broker}/v1/openapi.json`, (route) => route.fulfill({ status: 503 }));
    await page.goto('/reference');
    await page.getByText('The broker answered with 503.').waitFor();
    await entry(page, 'Operations', 'Create a key').waitFor();
  });

  it('leads from one guide to a section of another, and finds guides by their words', async () => {
    const page = await stage.open('/guides');
    await page.getByRole('searchbox', { name: 'Search guides' }).fill('silent time estimated');
    await entry(page, 'Guides', 'Billing').click();
    await title(page, 'Billing').waitFor();
    await page.getByRole('article').getByRole('link', { name: 'hold', exact: true }).click();
    await title(page, 'Holds and charges').waitFor();
    expect(new URL(page.url()).hash).toBe('#the-hold');
    await page.getByRole('heading', { name: 'The hold', exact: true }).waitFor();
    await expectAccessible(page);
    await page.getByRole('navigation', { name: 'On this page' }).getByRole('link', { name: 'The hold' }).waitFor();
    await page.goto('/guides/no/such');
    await page.getByText('This version of the documentation does not have it.').waitFor();
  });

  it('begins with the addresses of the deployment, and fills in the key that the tab has, also into guides', async () => {
    const page = await stage.open('/guides', { as: await stage.person() });
    const broker = new URL(stage.service.baseUrl).origin;
    await title(page, 'Guides').waitFor();
    await page.getByTestId('address').first().waitFor();
    expect(await page.getByTestId('address').allTextContents()).toEqual([`${broker}/v1`, `${stage.origin}/v1`]);
    await page.getByRole('link', { name: 'Create a key' }).click();
    await page.getByRole('button', { name: 'Create key' }).click();
    const key = (await page.getByTestId('new-key').textContent()) ?? '';
    await page.getByRole('link', { name: 'Guides' }).first().click();
    await page.getByRole('tabpanel').getByText(key).first().waitFor();
    await expectAccessible(page);
    await entry(page, 'Guides', 'curl').click();
    await title(page, 'curl').waitFor();
    const [setting = '', request = ''] = await page.getByRole('article').locator('pre').allTextContents();
    expect(setting).toBe(
      `export BASE_URL=${broker}/v1\nexport CONTROL_URL=${stage.origin}/v1\nexport INFERENCE_KEY=${key}`,
    );
    expect(await shell(`${setting}\n${request}`)).toContain('data: [DONE]');
    // A step whose command stands between two lists keeps its number.
    await page.goto('/guides/operate/compose');
    await title(page, 'Deploy with Docker Compose').waitFor();
    const lists = await page.getByRole('article').locator('ol').all();
    const numbers = await Promise.all(lists.slice(0, 3).map((list) => list.getAttribute('start')));
    expect(numbers).toEqual(['1', '2', '6']);
  });

  it('draws the diagrams of guides', async () => {
    const page = await stage.open('/guides/concepts/planes');
    await page
      .getByRole('figure')
      .getByRole('listitem')
      .filter({ hasText: 'redeem the ticket, place a hold' })
      .waitFor();
    expect(await page.getByText('sequenceDiagram').count()).toBe(0);
    expect(await page.getByRole('figure').getByRole('listitem').first().textContent()).toBe(
      'Client 1. API key, model, policy Control plane',
    );
    await expectAccessible(page);
  });

  it('shows the row of a table that an address names, such as each class of error of usage', async () => {
    const page = await stage.open('/status');
    for (const error of Object.keys(usageErrorNotes)) {
      await page.goto(`/guides/reference/errors#errors-of-usage-${error}`);
      const row = page.locator(`tr[id="errors-of-usage-${error}"]`);
      await row.and(page.locator('.bg-accent-soft')).waitFor();
      await expect
        .poll(async () => {
          const { y = -1 } = (await row.boundingBox()) ?? {};
          return y > 50 && y < 850;
        })
        .toBe(true);
      expect(await row.textContent()).toContain(usageErrorNotes[error as UsageError].when);
    }
  });

  it('is found from the palette', async () => {
    const page = await stage.open('/models');
    await page.getByText('15 models').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Search pages/ }).fill('rotate');
    await page.getByRole('option', { name: 'Search the reference for “rotate”' }).click();
    await title(page, 'API reference').waitFor();
    await entry(page, 'Operations', 'Rotate the secret of a key').waitFor();
  });

  it('leads from the palette to a single operation and a single guide, which it loads when somebody types', async () => {
    const page = await stage.open('/status');
    await title(page, 'Status').waitFor();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const palette = page.getByRole('combobox', { name: /^Search pages/ });
    await page.keyboard.press('Control+k');
    await palette.waitFor();
    expect(asked.filter((url) => /openapi|guides/.test(url))).toEqual([]);
    await palette.fill('rotate secret');
    await page.getByRole('option', { name: 'Rotate the secret of a key POST /v1/keys/' }).click();
    await title(page, 'Rotate the secret of a key').waitFor();
    await page.keyboard.press('Control+k');
    await palette.fill('holds and');
    await page.getByRole('option', { name: 'Holds and charges', exact: true }).click();
    await title(page, 'Holds and charges').waitFor();
    // By a heading, and with a plane away.
    await page.route(`${new URL(stage.service.baseUrl).origin}/v1/openapi.json`, (route) =>
      route.fulfill({ status: 503 }),
    );
    await page.goto('/status');
    await title(page, 'Status').waitFor();
    await page.keyboard.press('Control+k');
    await palette.fill('precision of the');
    await page.getByRole('option', { name: 'Search the guides for “precision of the”' }).waitFor();
    await palette.fill('the hold');
    await page.getByRole('option', { name: 'Holds and charges', exact: true }).waitFor();
  });

  it('shows to anybody how both planes do now, and how providers did in the last day', async () => {
    const page = await stage.open('/status');
    const card = (name: string) =>
      page.locator('section').filter({ has: page.getByRole('heading', { level: 2, name, exact: true }) });
    await card('Confidential broker').getByText('Ready', { exact: true }).waitFor();
    await card('Control plane').getByText('Ready', { exact: true }).waitFor();
    await card('The last 24 hours').getByText('No hour had 20 requests yet').waitFor();
    const hours = Array.from({ length: 24 }, (_, hour) => ({
      at: new Date(Date.UTC(2026, 2, 3, hour)).toISOString(),
      requests: hour === 5 ? 40 : null,
      success_rate: hour === 5 ? 0.5 : null,
    }));
    const acme = { provider: 'acme', requests: 132, success_rate: 0.85, hours };
    await page.route('**/v1/status', (route) =>
      route.fulfill({ json: { window_hours: 24, planes: { control: [], broker: [] }, hours, providers: [acme] } }),
    );
    await page.route(`${new URL(stage.service.baseUrl).origin}/readyz`, (route) => route.fulfill({ status: 503 }));
    await page.reload();
    await card('Confidential broker').getByText('Starting or shutting down').waitFor();
    await page.getByRole('img', { name: /^acme: trouble at / }).waitFor();
    expect(await page.getByRole('row', { name: /^acme/ }).textContent()).toMatch(/^acmeRequests132Success85%/);
    await page.getByRole('link', { name: 'acme', exact: true }).click();
    await title(page, 'acme').waitFor();
  });

  it('shows in which hours each plane was ready, as control noted each minute', async () => {
    const status = async () => (await (await fetch(`${stage.service.controlUrl}/status`)).json()) as StatusAnswer;
    const { planes } = await status();
    expect([planes.control.length, planes.broker.length]).toEqual([24, 24]);
    const hour = Math.floor(Date.now() / hourMs) - 5;
    // Two hours without trouble, one without the broker, and one without control.
    await stage.service.pool.query(
      `insert into plane_minutes (minute, control, broker)
       select m, true, m / 60 < $1 + 2 from generate_series($1 * 60, $1 * 60 + 179) m`,
      [hour],
    );
    const noted = async () => {
      const { control, broker } = (await status()).planes;
      const from = control.findIndex(({ at }) => Date.parse(at) === hour * hourMs);
      return [control, broker].map((hours) => hours.slice(from, from + 4).map(({ ready }) => ready));
    };
    await until(async () => (await noted())[0]?.[0] === 1, 'the notes are read', 100_000);
    expect(await noted()).toEqual([
      [1, 1, 1, 0],
      [1, 1, 0, null],
    ]);
    // What the service noted of itself.
    await until(async () => {
      const { rows } = await stage.service.pool.query<{ control: boolean; broker: boolean }>(
        'select control, broker from plane_minutes order by minute desc limit 1',
      );
      return rows[0]?.control === true && rows[0].broker;
    }, 'both planes are ready');
    const page = await stage.open('/status');
    await page.getByRole('img', { name: /^Confidential broker: trouble at / }).waitFor();
    await page.getByRole('img', { name: /^Control plane: trouble at / }).waitFor();
    await expectAccessible(page);
  });

  thoroughly('looks well', async () => {
    for (const [name, path, shown, ...widths] of [
      ['reference', '/reference', 'API reference'],
      ['reference-chat', '/reference/broker/createChatCompletion', 'Create a chat completion'],
      ['reference-chat', '/reference/broker/createChatCompletion', 'Create a chat completion', 320],
      ['guides', '/guides', 'Guides'],
      ['guide', '/guides/use/billing', 'Billing'],
      ['guide-drawn', '/guides/ARCHITECTURE', 'Architecture'],
      ['guide-sequence', '/guides/concepts/planes', 'Control plane and broker'],
      ['guide-routing', '/guides/concepts/routing', 'Routing'],
      ['status', '/status', 'Status'],
    ] as const)
      await expectGoodLooks(stage, {
        ...{ name, path, shown: (page) => title(page, shown).waitFor() },
        ...(widths.length === 0 ? {} : { widths }),
      });
  });
});
