import { createRedisState } from '@sotto/state';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { answerImage, png } from '../../contract/media/answers.ts';
import { ask } from '../../kit/client.ts';
import { until } from '../../kit/service.ts';
import { thoroughly } from '../../kit/thoroughly.ts';
import { describeDashboard, expectAccessible, expectGoodLooks, keepPicture, type Stage, shell } from './stage.ts';

const hourMs = 3_600_000;
const rows = (page: Page) => page.getByRole('table', { name: /^Models/ }).locator('tbody tr');
const ids = async (page: Page): Promise<string[]> =>
  (await rows(page).locator('.font-mono').allTextContents()).toSorted();
const title = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

await describeDashboard('models', (stage) => {
  it('are open to everyone, with the best tier that their routes offer', async () => {
    const page = await stage.open('/models');
    const wide = rows(page).filter({ hasText: 'acme/wide' });
    await wide.waitFor();
    await page.getByText('15 models').waitFor();
    expect(await wide.textContent()).toMatch(
      /TEE.*Private.*Anonymous.*vault, acme, beta.*8K.*from \$1\.00.*from \$2\.00/,
    );
    expect(await rows(page).filter({ hasText: 'beta/paint' }).textContent()).toContain('$0.04per image');
    expect(await rows(page).filter({ hasText: 'beta/voice' }).textContent()).toContain('$15.00per M characters');
  });

  it('are narrowed to those with one route that meets all filters, and the address keeps the filters', async () => {
    const page = await stage.open('/models');
    await page.getByLabel('Privacy tier').selectOption({ label: 'Private or stronger' });
    await page.getByLabel('Input price').selectOption({ label: 'Up to $0.50 / M' });
    await page.getByText('11 of 15 models have a route that fits').waitFor();
    const found = await ids(page);
    expect(found).toContain('acme/small');
    // Its private route costs 1, and its cheap route is anonymous.
    expect(found).not.toContain('acme/wide');
    await page.reload();
    await page.getByText('11 of 15 models have a route that fits').waitFor();
    expect(await ids(page)).toEqual(found);
  });

  it('are found at once by any words of their id and name, and an empty result says how to go on', async () => {
    const page = await stage.open('/models');
    const search = page.getByRole('searchbox', { name: 'Search by name or id' });
    await search.pressSequentially('chat fla');
    await page.getByText('1 of 15 models').waitFor();
    expect(await ids(page)).toEqual(['flaky/chat']);
    expect(new URL(page.url()).searchParams.get('q')).toBe('chat fla');
    await search.fill('no such thing');
    await page.getByText('No model fits').waitFor();
    await page.getByRole('button', { name: 'Clear all filters' }).click();
    await page.getByText('15 models', { exact: true }).waitFor();
    expect(await search.inputValue()).toBe('');
  });

  it('appear with the filters and in the order of the address', async () => {
    const page = await stage.open('/models?can=tools,reasoning&provider=acme&sort=input&tier=nonsense&price=much');
    await page.getByText('1 of 15 models').waitFor();
    expect(await ids(page)).toEqual(['acme/thinker']);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByText('15 models', { exact: true }).waitFor();
    expect(await page.getByRole('columnheader', { name: /Input/ }).getAttribute('aria-sort')).toBe('ascending');
    await expect.poll(() => rows(page).first().textContent()).toContain('acme/embed');
    await page
      .getByRole('columnheader', { name: /Context/ })
      .getByRole('button')
      .click();
    await expect.poll(() => new URL(page.url()).searchParams.get('sort')).toBe('context');
    await expect.poll(() => rows(page).first().textContent()).toContain('acme/roomy');
  });

  it('report a failure to load, and load again on request', async () => {
    const page = await stage.open('/verify');
    await page.route('**/v1/catalog/models', (route) =>
      route.fulfill({
        status: 503,
        json: { error: { message: 'Not ready yet.', type: 'service_unavailable', request_id: 'req_7' } },
      }),
    );
    await page.goto('/models');
    const failure = page.getByRole('alert');
    await failure.getByText('Not ready yet.').waitFor();
    expect(await failure.textContent()).toContain('req_7');
    await page.unroute('**/v1/catalog/models');
    await failure.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('15 models').waitFor();
  });

  it('each show their routes, prices and tiers, at an address of their own', async () => {
    const page = await stage.open('/models');
    await page.getByRole('link', { name: 'Name of acme/wide' }).click();
    await title(page, 'Name of acme/wide');
    expect(new URL(page.url()).pathname).toBe('/models/acme/wide');
    const routes = page.getByRole('table', { name: 'Routes of Name of acme/wide' }).locator('tbody tr');
    expect(await routes.count()).toBe(3);
    expect(await routes.first().textContent()).toMatch(/vault.*TEE.*\$3\.00.*\$6\.00/);
    await page.getByRole('button', { name: 'Copy id' }).click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('acme/wide');
    await page.getByText('Every route had fewer than 20 requests').waitFor();
  });

  it('that do not exist are reported, with the way back', async () => {
    const page = await stage.open('/models/acme/nothing');
    await page.getByText('No such model').waitFor();
    await page.getByRole('main').getByRole('link', { name: 'All models' }).click();
    await page.getByText('15 models').waitFor();
  });

  it('show how to call them, by commands that work unchanged with your own key', async () => {
    const { inferenceKey } = await stage.service.createAccount();
    const answerTo = async (model: string): Promise<unknown> => {
      const page = await stage.open(`/models/${model}`);
      const command = (await page.getByRole('tabpanel').locator('pre').textContent()) ?? '';
      expect(command).toContain(model);
      return JSON.parse(await shell(command.replaceAll('sotto_inf_YOUR_KEY', inferenceKey)));
    };
    expect(await answerTo('acme/small')).toMatchObject({ object: 'chat.completion' });
    expect(await answerTo('acme/embed')).toMatchObject({ object: 'list', data: [{ object: 'embedding' }] });
    stage.provider('beta').answer(answerImage());
    expect(await answerTo('beta/paint')).toMatchObject({ data: [{ b64_json: png.toString('base64') }] });
  });

  it('show the performance of their routes once there were enough requests', async () => {
    const { inferenceKey } = await stage.service.createAccount();
    const request = { model: 'acme/measured', stream: true };
    for (let count = 0; count < 24; count += 1) await ask(stage.service, inferenceKey, request);
    const uptime = `${stage.service.controlUrl}/models/uptime?model=acme/measured`;
    await until(async () => (await (await fetch(uptime)).text()).includes('"requests":24'), 'all are measured');
    const page = await stage.open('/models/acme/measured');
    const measured = page.getByRole('table', { name: 'Routes in the last 24 hours' }).locator('tbody tr');
    await measured.getByText('100%').waitFor();
    expect(await measured.textContent()).toContain('24');
    const plot = page.getByRole('figure').filter({ hasText: 'Success rate' });
    await plot.locator('svg').first().waitFor();
    await plot.getByRole('button', { name: 'Show as a table' }).click();
    expect(await plot.getByRole('table').textContent()).toContain('100%');
  });

  it('are sorted by what was measured, and each provider has a page with its models and incidents', async () => {
    await untilListed(stage, 'acme/measured');
    const page = await stage.open('/models');
    await page.getByLabel('Sort by').selectOption({ label: 'Best uptime' });
    await expect.poll(() => rows(page).first().textContent()).toMatch(/acme\/measured.*100% success/);
    expect(await rows(page).last().textContent()).toContain('too few requests');
    expect(new URL(page.url()).searchParams.get('sort')).toBe('uptime');
    await page.getByRole('link', { name: 'Name of acme/measured' }).click();
    await page
      .getByRole('table', { name: /^Routes of/ })
      .getByRole('link', { name: 'acme' })
      .click();
    await title(page, 'acme');
    await page.getByText('No incidents in the last 24 hours.').waitFor();
    const served = page.getByRole('table', { name: 'Models at acme' }).locator('tbody tr');
    expect(await served.filter({ hasText: 'acme/measured' }).textContent()).toContain('100%');
    // A tier that the provider no longer serves does not count.
    const measuredAs = (privacy_class: string, success_rate: number) => ({
      ...{ provider: 'acme', privacy_class, success_rate, window_hours: 24, requests: 40 },
      ...{ ttft_ms: null, throughput_tps: null },
    });
    const routes = [measuredAs('anonymous', 0.25), measuredAs('private', 0.75)];
    const measurements = { data: [{ model: 'acme/measured', routes }] };
    await page.route('**/v1/catalog/measurements', (route) => route.fulfill({ json: measurements }));
    await page.reload();
    await served.filter({ hasText: 'acme/measured' }).getByText('75%').waitFor();
    await page.unroute('**/v1/catalog/measurements');
    await page.goto('/providers/beta');
    await page.getByText('No model had 20 requests, so nothing is known').waitFor();
    await page.goto('/providers/nobody');
    await page.getByText('No such provider').waitFor();
  });

  it('are compared, up to four, in one table that the address keeps', async () => {
    const page = await stage.open('/models?compare=acme/small,nothing/here');
    const bar = page.getByRole('region', { name: 'Comparison' });
    await bar.getByText('1 of 4:').waitFor();
    await bar.getByRole('button', { name: 'Choose another to compare' }).and(page.locator(':disabled')).waitFor();
    for (const id of ['acme/wide', 'acme/thinker', 'acme/roomy'])
      await page.getByRole('checkbox', { name: `Compare ${id}` }).check();
    expect(await page.getByRole('checkbox', { name: 'Compare acme/plain' }).isDisabled()).toBe(true);
    await page.reload();
    await bar.getByRole('button', { name: 'Compare 4 models' }).click();
    const table = page.getByRole('dialog', { name: 'Models compared' }).getByRole('table');
    const figures = (name: string): Promise<string[]> =>
      table
        .locator('tr')
        .filter({ has: page.getByRole('rowheader', { name }) })
        .locator('td')
        .allTextContents();
    expect((await figures('Input, per M tokens'))[1]).toBe('from $1.00');
    expect((await figures('Providers'))[1]).toBe('vault, acme, beta');
    await expect.poll(() => figures('Uptime, 24 hours')).toEqual(Array(4).fill('too few'));
    await expectAccessible(page);
    await keepPicture(page, 'models-compared');
    await table.getByRole('button', { name: 'Copy id' }).nth(1).click();
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe('acme/wide');
    expect(await table.getByRole('link', { name: 'Try in playground' }).nth(1).getAttribute('href')).toBe(
      '/playground?model=acme%2Fwide',
    );
    await page.keyboard.press('Escape');
    await bar.getByRole('button', { name: 'Clear' }).click();
    await bar.waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.has('compare')).toBe(false);
  });

  thoroughly('look well', async () => {
    await shareMeasurements(stage);
    if (stage.service.redisUrl !== undefined) {
      await expectGoodLooks(stage, {
        name: 'provider',
        path: '/providers/vault',
        widths: [390, 1440],
        shown: async (page) => {
          const incidents = page.getByRole('table', { name: 'Incidents in the last 24 hours' }).locator('tbody tr');
          await incidents.first().waitFor();
          expect(await incidents.count()).toBe(1);
          expect(await incidents.textContent()).toMatch(/acme\/wide.*120.*77\.5%/);
        },
      });
    }
    await expectGoodLooks(stage, {
      name: 'models-chosen',
      path: '/models?sort=uptime&compare=acme/small,acme/wide',
      widths: [390, 1440],
      shown: (page) => page.getByText('too few requests').first().waitFor(),
    });
    await expectGoodLooks(stage, {
      name: 'models',
      path: '/models',
      shown: (page) => page.getByText('15 models').waitFor(),
    });
    await expectGoodLooks(stage, {
      name: 'model',
      path: '/models/acme/wide',
      shown: async (page) => {
        await page.getByRole('table', { name: 'Routes in the last 24 hours' }).waitFor();
        if (stage.service.redisUrl !== undefined)
          await page.getByRole('figure').locator('svg.recharts-surface').first().waitFor();
      },
    });
  });

  thoroughly('look well without a measurement, without a find', async () => {
    await expectGoodLooks(stage, {
      name: 'models-none',
      path: '/models?q=nothing&tier=e2ee',
      shown: (page) => page.getByText('No model fits').waitFor(),
    });
    await expectGoodLooks(stage, {
      name: 'model-image',
      path: '/models/beta/paint',
      shown: (page) => page.getByText('fewer than 20 requests').first().waitFor(),
    });
  });

  it('stay fast by the hundreds: rows out of sight are not drawn', async () => {
    const providers = ['acme', 'beta', 'flaky'];
    const models = Array.from({ length: 500 }, (_, index) => ({
      id: `lab-${index % 17}/model-${index}`,
      name: `Model ${index} of laboratory ${index % 17}`,
      model_type: 'text',
      context_length: 8000 + index * 1000,
      max_output_tokens: 4000,
      routes: providers.slice(index % 3).map((provider) => ({
        provider,
        upstream_model: `m-${index}`,
        privacy_class: 'anonymous',
        pricing: { input: 0.1 + index / 100, output: 1 },
      })),
    }));
    await stage.service.replaceCatalog(JSON.stringify({ models }));
    const page = await stage.open('/models');
    await page.getByText('500 models').waitFor();
    const search = page.getByRole('searchbox', { name: 'Search by name or id' });
    expect(await drawnRows(page)).toBeGreaterThan(0);
    expect(await drawnRows(page)).toBeLessThan(60);
    await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight)');
    await expect
      .poll(() => page.evaluate(`[...document.querySelectorAll('tbody tr')].slice(-1).every(${isDrawn})`))
      .toBe(true);
    expect(await drawnRows(page)).toBeLessThan(120);
    await search.fill('model-49');
    await page.getByText('11 of 500 models').waitFor();
    await expect.poll(() => drawnRows(page)).toBe(11);
    await search.fill('');
    await page.getByText('500 models', { exact: true }).waitFor();
    await page
      .getByRole('columnheader', { name: /Context/ })
      .getByRole('button')
      .click();
    await expect.poll(() => rows(page).first().textContent()).toContain('lab-6/model-499');
    if (stage.service.redisUrl === undefined) return;
    // One that no list of the first hundred has, by name or otherwise.
    await shareHour(stage, Math.floor(Date.now() / hourMs), [['lab-8/model-399@acme', '40;39;60:40;52:40;;']]);
    await untilListed(stage, 'lab-8/model-399');
    await page.getByLabel('Sort by').selectOption({ label: 'Best uptime' });
    await expect.poll(() => rows(page).first().textContent()).toMatch(/lab-8\/model-399.*97\.5% success/);
    expect(await rows(page).count()).toBe(500);
    await page.getByLabel('Sort by').selectOption({ label: 'Fastest' });
    await expect.poll(() => rows(page).first().textContent()).toContain('lab-8/model-399');
  });
});

// Asks for a row's content, because the row itself keeps its place even when its contents are skipped.
const isDrawn = '(row) => row.firstElementChild.checkVisibility({ contentVisibilityAuto: true })';

/** How many rows the browser lays out and paints: those in sight, and some around them. */
const drawnRows = (page: Page): Promise<number> =>
  page.evaluate(`[...document.querySelectorAll('tbody tr')].filter(${isDrawn}).length`);

/** Waits until a model, or a figure of it, is among the measurements. */
const untilListed = ({ service }: Pick<Stage, 'service'>, what: string): Promise<void> =>
  until(
    async () => (await (await fetch(`${service.controlUrl}/catalog/measurements`)).text()).includes(what),
    `${what} is measured`,
    40_000,
  );

/** Shares the records of routes in an hour, as a broker does. */
async function shareHour(
  { service }: Pick<Stage, 'service'>,
  hour: number,
  records: [string, string][],
): Promise<void> {
  const state = createRedisState({ url: service.redisUrl ?? '' });
  const share = () => state.shareMeasurements({ hour, source: 'test', records: new Map(records) });
  await until(async () => share().then(() => true), 'the state is reachable');
  await state.close();
}

/**
 * One day of three routes: one performed badly for some hours, and one had few requests. Needs the state of two planes.
 */
async function shareMeasurements({ service }: Stage): Promise<void> {
  if (service.redisUrl === undefined) return;
  const now = Math.floor(Date.now() / hourMs);
  for (let back = 0; back < 23; back += 1) {
    const failed = back > 8 && back < 12 ? 9 : back % 3;
    await shareHour({ service }, now - back, [
      ['acme/wide@vault', `40;${40 - failed};${70 + (back % 4)}:30,${76 + (back % 5)}:10;45:40;;`],
      ['acme/wide@acme', `60;${60 - (back % 2)};${60 + (back % 3)}:60;52:60;;`],
      ['acme/wide@beta', '1;1;;;;'],
    ]);
  }
  // Control reads past hours when it starts, so restart it.
  await service.control.terminate();
  await service.control.restart();
  await untilListed({ service }, '"requests":1380');
}
