import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { ask } from '../../kit/client.ts';
import { thoroughly } from '../../kit/thoroughly.ts';
import { dayMs, narrow, requests, requestsSuite, type Use, use, user } from './requests.suite.ts';
import { requestsLiveSuite } from './requests-live.suite.ts';
import { describeDashboard, expectAccessible, expectGoodLooks } from './stage.ts';

const total = (page: Page, name: string) => page.locator('dl > div').filter({ hasText: name }).locator('dd');
const plot = (page: Page) => page.getByRole('figure');

/** A month of usage by two keys at four models. */
const month = ([first = '', second = '']: readonly string[]): Use[] =>
  Array.from({ length: 90 }, (_, index) => ({
    keyId: index % 3 === 0 ? second : first,
    daysAgo: Math.floor(index / 3) % 29,
    model: ['acme/small', 'acme/thinker', 'beta/chat', 'acme/wide'][index % 4] ?? '',
    provider: index % 4 === 2 ? 'beta' : 'acme',
    usd: 0.002 + ((index * 7) % 13) / 400,
  }));

await describeDashboard('usage', (stage) => {
  requestsSuite(stage);
  requestsLiveSuite(stage);

  it('begins empty, with a link to the first step; a request shows once it is booked', async () => {
    const somebody = await stage.person();
    const page = await stage.open('/usage', { as: somebody });
    await page.getByText('No requests on these days').waitFor();
    await page.getByRole('link', { name: 'Send a first request' }).click();
    await page.getByLabel('Your question').waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('button', { name: 'Create key' }).click();
    const key = (await page.getByTestId('new-key').textContent()) ?? '';
    const { json } = await ask(stage.service, key, { model: 'acme/small' });
    const { usage } = json as { usage: { cost: number } };
    expect(usage.cost).toBeGreaterThan(0);
    await page.getByRole('link', { name: 'Usage', exact: true }).first().click();
    await page.getByRole('tab', { name: 'Requests' }).click();
    await expect
      .poll(
        async () => {
          await page.getByRole('button', { name: 'Refresh' }).click();
          return requests(page).count();
        },
        { timeout: 20_000 },
      )
      .toBe(1);
    expect(await requests(page).textContent()).toMatch(/Completed.*acme\/small.*acme.*Private.*10 → 20.*\$0\.0001/);
    await page.getByRole('tab', { name: 'Overview' }).click();
    expect(await total(page, 'Requests').textContent()).toContain('1');
  });

  it('sums the shown requests, and says how many failed, were cancelled or were estimated', async () => {
    const person = await user(stage);
    const [keyId = ''] = person.keyIds;
    await use(stage, person, [
      { keyId, usd: 1.25, daysAgo: 1 },
      { keyId, usd: 0.25, status: 'cancelled', daysAgo: 1 },
      { keyId, usd: 0, status: 'failed', provider: null, daysAgo: 1 },
      { keyId, usd: 0.5, estimated: true, attempts: 2, daysAgo: 1 },
      { keyId, usd: 7, daysAgo: 45 },
      // Today is not over, so it is not compared.
      { keyId, usd: 1 },
    ]);
    const page = await stage.open('/usage', { as: person });
    await total(page, 'Cost').waitFor();
    expect(await total(page, 'Cost').textContent()).toContain('$3.00');
    const more = '+300% from the period before';
    await expect.poll(() => total(page, 'Requests').textContent()).toBe(`51 failed, 1 cancelled, 1 estimated${more}`);
    expect(await total(page, 'Tokens in').textContent()).toBe(`5K2K cached${more}`);
    expect(await total(page, 'Cost').textContent()).toContain('−71.4% from the period before');
    await narrow(page, 'Time', 'Last 90 days');
    await expect.poll(() => total(page, 'Cost').textContent()).toContain('$10.00');
    expect(new URL(page.url()).search).toBe('?range=90d');
  });

  it('is grouped by model, key and provider, and narrowed by a link or a choice; the address keeps it', async () => {
    const person = await user(stage);
    await use(stage, person, month(person.keyIds));
    const page = await stage.open('/usage', { as: person });
    await plot(page).locator('svg').first().waitFor();
    const legend = page.getByRole('list', { name: 'Legend' });
    expect((await legend.getByRole('listitem').allTextContents()).toSorted()).toEqual([
      'acme/small',
      'acme/thinker',
      'acme/wide',
      'beta/chat',
    ]);
    await page.getByRole('radio', { name: 'Key' }).check({ force: true });
    await expect
      .poll(async () => (await legend.getByRole('listitem').allTextContents()).toSorted())
      .toEqual(['laptop', 'nightly job']);
    await page.getByRole('radio', { name: 'Requests' }).check({ force: true });
    await page.getByText('requests, by day', { exact: true }).waitFor();
    await page.getByRole('table', { name: 'Usage by key' }).getByRole('link', { name: 'nightly job' }).click();
    await expect.poll(() => total(page, 'Requests').textContent()).toContain('30');
    const search = new URL(page.url()).searchParams;
    expect(Object.fromEntries(search)).toEqual({ by: 'key', show: 'requests', key: person.keyIds[1] });
    await page.reload();
    await expect.poll(() => total(page, 'Requests').textContent()).toContain('30');
    await page.getByRole('button', { name: 'Key: nightly job' }).waitFor();
    await narrow(page, 'Model', 'beta/chat');
    await expect.poll(() => total(page, 'Requests').textContent()).toMatch(/^[78]/);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => total(page, 'Requests').textContent()).toContain('90');
  });

  it("accepts typed days, and shows the service's error at the field", async () => {
    const person = await user(stage);
    await use(stage, person, month(person.keyIds));
    const page = await stage.open('/usage', { as: person });
    await narrow(page, 'Time', 'From … to …');
    const day = (daysAgo: number): string => new Date(Date.now() - daysAgo * dayMs).toISOString().slice(0, 10);
    await page.getByLabel('From').fill(day(1));
    await expect.poll(() => total(page, 'Requests').textContent()).toMatch(/^9/);
    expect(new URL(page.url()).searchParams.get('from')).toBe(day(1));
    await page.getByLabel('To, inclusive').fill(day(3));
    await page.getByText('`to` must be later than `from`.').first().waitFor();
    expect(await page.getByLabel('To, inclusive').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('From').fill(day(4));
    await expect.poll(() => total(page, 'Requests').textContent()).toMatch(/^6/);
  });

  it('is downloaded exactly as shown', async () => {
    const person = await user(stage);
    const [first = '', second = ''] = person.keyIds;
    await use(stage, person, [
      ...month(person.keyIds),
      { keyId: second, model: 'only/this', usd: 0.1 },
      { keyId: first, daysAgo: 60 },
    ]);
    const page = await stage.open(`/usage?key=${second}&by=model`, { as: person });
    const csvOf = async (name: string): Promise<string[]> => {
      const waiting = page.waitForEvent('download');
      await page.getByRole('link', { name, exact: true }).click();
      const file = await (await waiting).path();
      return (await readFile(file, 'utf8')).trimEnd().split('\r\n');
    };
    const [sumsHead = '', ...sums] = await csvOf('Export');
    expect(sumsHead).toMatch(/^day,model,requests/);
    expect(sums.some((line) => line.includes('only/this,1,'))).toBe(true);
    await page.getByRole('tab', { name: 'Requests' }).click();
    const [head = '', ...lines] = await csvOf('Export requests with ids');
    expect(head).toMatch(/^id,at,workspace_id,key_id/);
    expect(lines).toHaveLength(31);
    expect(lines.every((line) => line.includes(second))).toBe(true);
    await narrow(page, 'Model', 'only/this');
    expect(await csvOf('Export requests with ids')).toHaveLength(2);
  });

  it('is grouped by member and tag for the owner, with names, also of people who left, and exported so', async () => {
    const [person, left] = [await user(stage), await stage.person(0)];
    const [own = '', theirs = ''] = person.keyIds;
    await stage.service.pool.query("update api_keys set created_by = $2, tag = 'Cost centre 7' where id = $1", [
      ...[theirs, left.accountId],
    ]);
    await use(stage, person, [
      { keyId: own, usd: 1 },
      { keyId: theirs, usd: 2 },
      { keyId: theirs, usd: 3, model: 'beta/chat' },
    ]);
    const page = await stage.open('/usage?range=7d', { as: person });
    await page.getByRole('radio', { name: 'Member' }).check({ force: true });
    const sums = page.getByRole('table', { name: 'Usage by member' });
    await expect
      .poll(() => sums.getByRole('row').allTextContents())
      .toEqual([
        expect.anything(),
        expect.stringMatching(`${left.email}.*\\$5\\.00`),
        expect.stringMatching(`${person.email}.*\\$1\\.00`),
      ]);
    await sums.getByRole('link', { name: left.email }).click();
    await expect.poll(() => total(page, 'Cost').textContent()).toContain('$5.00');
    expect(new URL(page.url()).searchParams.get('member')).toBe(left.accountId);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('radio', { name: 'Tag' }).check({ force: true });
    await page.getByRole('table', { name: 'Usage by tag' }).getByRole('link', { name: 'Cost centre 7' }).click();
    await expect.poll(() => total(page, 'Cost').textContent()).toContain('$5.00');
    await expectAccessible(page);
    const waiting = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Export by month, member, key and model' }).click();
    const [head = '', ...lines] = (await readFile(await (await waiting).path(), 'utf8')).trimEnd().split('\r\n');
    expect(head).toMatch(
      /^month,workspace_id,workspace_name,member_id,member_email,key_id,key_name,tag,model,requests/,
    );
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain(`${left.accountId},${left.email},${theirs},nightly job,Cost centre 7,`);

    // The members of the workspace, with what each used this month.
    await page.goto(new URL(`/workspaces/${person.workspaceId}`, page.url()).href);
    const member = page.getByRole('table', { name: 'Members' }).getByRole('row', { name: person.email });
    await member.getByRole('link', { name: '$1.00' }).waitFor();
  });

  it('shows the hours of a day or two and of the last 24, also by keyboard and as a table', async () => {
    const person = await user(stage);
    const [keyId = ''] = person.keyIds;
    await use(stage, person, [
      { keyId, usd: 1 },
      { keyId, usd: 2, minutesAgo: 22 * 60, model: 'beta/chat' },
      { keyId, usd: 4, minutesAgo: 25 * 60 },
    ]);
    const page = await stage.open('/usage', { as: person });
    await narrow(page, 'Time', 'Last 24 hours');
    await page.getByText('$, by hour (UTC)', { exact: true }).waitFor();
    await expect.poll(() => total(page, 'Cost').textContent()).toContain('$3.00');
    const sums = page.getByRole('table', { name: 'Usage by model' }).getByRole('row');
    await expect
      .poll(() => sums.allTextContents())
      .toEqual([
        expect.anything(),
        expect.stringMatching(/beta\/chat.*\$2\.00/),
        expect.stringMatching(/acme\/small.*\$1\.00/),
      ]);
    const drawing = plot(page).locator('svg.recharts-surface').first();
    await drawing.focus();
    for (let step = 0; step < 24; step += 1) await page.keyboard.press('ArrowRight');
    await plot(page).getByText('$1.00').first().waitFor();
    await plot(page).getByRole('button', { name: 'Show as a table' }).click();
    const rows = plot(page).getByRole('table').locator('tbody tr');
    expect(await rows.count()).toBe(24);
    expect(await rows.last().textContent()).toMatch(/:00.*\$1\.00/);
    expect(await rows.nth(1).textContent()).toContain('$2.00');
    await expectAccessible(page);
    // Requests of the same hours, and back.
    await page.getByRole('tab', { name: 'Requests' }).click();
    await expect.poll(() => requests(page).count()).toBe(2);
    await page.getByRole('tab', { name: 'Overview' }).click();
    const waiting = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Export by hour, member, key and model' }).click();
    const lines = (await readFile(await (await waiting).path(), 'utf8')).trimEnd().split('\r\n');
    expect(lines).toHaveLength(3);
    await narrow(page, 'Time', 'Today');
    await page.getByText('$, by hour (UTC)', { exact: true }).waitFor();
    await narrow(page, 'Time', 'Last 7 days');
    await page.getByText('$, by day', { exact: true }).waitFor();
  });

  it('says since when requests are kept, where it asks for older ones', async () => {
    const person = await user(stage);
    await use(stage, person, [{ keyId: person.keyIds[0] ?? '' }, { keyId: person.keyIds[0] ?? '', daysAgo: 40 }]);
    const keep = (from: string) => stage.service.pool.query(`update deployment set usage_kept_from = ${from}`);
    const { rows } = await stage.service.pool.query<{ first: string; today: string }>(
      "select to_char(day, 'YYYY-MM-01') as first, to_char(day, 'YYYY-MM-DD') as today from (select now() at time zone 'UTC') as t (day)",
    );
    const { first, today } = rows[0] ?? { first: '', today: '' };
    await keep(`'${first}Z'`);
    try {
      const page = await stage.open('/usage?view=requests&range=12m', { as: person });
      await page.getByText(`Requests before ${first} (UTC) were deleted.`).waitFor();
      await page.goto(new URL(`/usage?view=requests&from=${today}&to=${today}`, page.url()).href);
      await requests(page).first().waitFor();
      expect(await page.getByText('were deleted').count()).toBe(0);
      // Hours are summed from requests, so of deleted ones the day is left.
      const earlier = new Date(Date.now() - 40 * dayMs).toISOString().slice(0, 10);
      await page.goto(new URL(`/usage?from=${earlier}&to=${earlier}`, page.url()).href);
      await page.getByText('$, by day', { exact: true }).waitFor();
    } finally {
      await keep('null');
    }
  });

  it('is read by keyboard and as a table', async () => {
    const person = await user(stage);
    const [keyId = ''] = person.keyIds;
    await use(stage, person, [
      { keyId, usd: 3 },
      { keyId, daysAgo: 1, usd: 2 },
    ]);
    const page = await stage.open('/usage?range=7d', { as: person });
    const drawing = plot(page).locator('svg.recharts-surface').first();
    await drawing.waitFor();
    await drawing.focus();
    for (let step = 0; step < 7; step += 1) await page.keyboard.press('ArrowRight');
    await plot(page).getByText('$3.00').first().waitFor();
    await plot(page).getByRole('button', { name: 'Show as a table' }).click();
    const rows = plot(page).getByRole('table').locator('tbody tr');
    expect(await rows.count()).toBe(7);
    expect(await rows.last().textContent()).toContain('$3.00');
    expect(await rows.nth(5).textContent()).toContain('$2.00');
    await expectAccessible(page);
  });

  it('shows nothing of another account, whatever the address says', async () => {
    const [one, other] = [await user(stage), await user(stage)];
    await use(stage, one, month(one.keyIds));
    const page = await stage.open(`/usage?workspace=${one.workspaceId}&key=${one.keyIds[0]}`, { as: other });
    await page.getByText('No requests match').waitFor();
    // The switcher names a workspace of the reader's own, and leads there.
    await page.getByRole('button', { name: 'Clear filters' }).first().click();
    await page.getByText('No requests on these days').waitFor();
    await page.getByRole('button', { name: 'Workspace: Another workspace' }).waitFor();
    await page.getByRole('button', { name: 'Workspace: Default Workspace' }).click();
    await page.getByRole('menuitem', { name: 'Default Workspace' }).click();
    await expect.poll(() => new URL(page.url()).search).toBe('');
  });

  thoroughly('looks well', async () => {
    const person = await user(stage);
    const [keyId = ''] = person.keyIds;
    await use(stage, person, [
      ...month(person.keyIds),
      { keyId, status: 'failed', error: 'provider', usd: 0 },
      { keyId, status: 'cancelled', estimated: true },
      { keyId, attempts: 3 },
      { keyId, usd: 0.00125 },
    ]);
    await expectGoodLooks(stage, {
      name: 'requests',
      path: '/usage?view=requests',
      as: person,
      widths: [390, 1440],
      shown: async (page) => {
        await requests(page).filter({ hasText: '0.0013' }).first().click();
        await page.getByText('This row has no content').waitFor();
      },
    });
    await expectGoodLooks(stage, {
      name: 'usage',
      path: '/usage',
      as: person,
      shown: async (page) => {
        await plot(page).locator('svg.recharts-surface').first().waitFor();
      },
    });
  });

  thoroughly('looks well where there is none', async () => {
    await expectGoodLooks(stage, {
      name: 'usage-none',
      path: '/usage?from=2026-01-01&to=2026-01-31',
      as: await stage.person(),
      shown: (page) => page.getByText('No requests on these days').waitFor(),
    });
  });
});
