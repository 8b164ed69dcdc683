import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { bookSettlements } from '@sotto/control';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { thoroughly } from '../../kit/thorough.ts';
import { describeDashboard, expectAccessible, expectGoodLooks, type Person, type Stage } from './stage.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;
const requests = (page: Page) => page.getByRole('table', { name: 'Requests' }).locator('tbody tr');
const total = (page: Page, name: string) => page.locator('dl > div').filter({ hasText: name }).locator('dd');
const plot = (page: Page) => page.getByRole('figure');

interface Use {
  readonly keyId: string;
  readonly daysAgo?: number;
  readonly model?: string;
  readonly provider?: string | null;
  readonly usd?: number;
  readonly status?: 'completed' | 'cancelled' | 'failed';
  readonly estimated?: boolean;
  readonly attempts?: number;
}

interface User extends Person {
  readonly workspaceId: string;
  readonly keyIds: readonly string[];
}

/** Somebody with two keys, as the ledger finds them. */
async function user(stage: Stage): Promise<User> {
  const person = await stage.person();
  const page = await stage.open('/verify', { as: person });
  const ids: string[] = [];
  let workspaceId = '';
  for (const name of ['laptop', 'nightly job']) {
    const answer = await page.context().request.post('/v1/keys', { data: { name, kind: 'inference' } });
    const key = await answer.json();
    ids.push(key.id);
    workspaceId = key.workspace_id;
  }
  return { ...person, workspaceId, keyIds: ids };
}

/** Books requests as the broker settles them. */
async function use(stage: Stage, { accountId, workspaceId }: User, uses: readonly Use[]): Promise<void> {
  const now = Math.floor(Date.now() / minuteMs) * minuteMs;
  const batch = uses.map(
    ({ keyId, daysAgo = 0, model = 'acme/small', provider = 'acme', usd = 0.01, status = 'completed', ...more }) => ({
      owner: { accountId, workspaceId, keyId },
      settlement: {
        v: 1,
        id: randomUUID(),
        kind: 'charge',
        accountRef: '',
        chargeNusd: String(Math.round(usd * 1e9)),
        at: now - daysAgo * dayMs,
        operation: 'chat',
        model,
        provider,
        privacyClass: provider === null ? null : 'private',
        promptTokens: 1000,
        cachedTokens: 400,
        completionTokens: 500,
        reasoningTokens: 100,
        attempts: more.attempts ?? 1,
        fallback: (more.attempts ?? 1) > 1,
        status,
        estimated: more.estimated ?? false,
      } as const,
    }),
  );
  await bookSettlements(stage.service.pool, batch);
}

/** A month of two keys at four models. */
const month = ([first = '', second = '']: readonly string[]): Use[] =>
  Array.from({ length: 90 }, (_, index) => ({
    keyId: index % 3 === 0 ? second : first,
    daysAgo: Math.floor(index / 3) % 29,
    model: ['acme/small', 'acme/thinker', 'beta/chat', 'acme/wide'][index % 4] ?? '',
    provider: index % 4 === 2 ? 'beta' : 'acme',
    usd: 0.002 + ((index * 7) % 13) / 400,
  }));

await describeDashboard('usage', (stage) => {
  it('begins with none, and the way to the first; a request shows once it is booked', async () => {
    const somebody = await stage.person();
    const page = await stage.open('/usage', { as: somebody });
    await page.getByText('No requests in these days').waitFor();
    await page.getByRole('link', { name: 'Send a first request' }).click();
    await page.getByRole('button', { name: 'Make a key' }).click();
    const key = await page.getByTestId('new-key').textContent();
    const answer = await fetch(`${stage.service.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'acme/small', messages: [{ role: 'user', content: 'Hi' }] }),
    });
    const { usage } = (await answer.json()) as { usage: { cost: number } };
    expect(usage.cost).toBeGreaterThan(0);
    await page.getByRole('link', { name: 'Usage', exact: true }).first().click();
    await expect
      .poll(
        async () => {
          await page.getByRole('button', { name: 'Refresh' }).click();
          return requests(page).count();
        },
        { timeout: 20_000 },
      )
      .toBe(1);
    expect(await requests(page).textContent()).toMatch(/acme\/small.*acme.*Private.*First key.*10.*20.*Completed/);
    expect(await total(page, 'Requests').textContent()).toContain('1');
  });

  it('sums what is shown, and says what failed, was cancelled and was estimated', async () => {
    const person = await user(stage);
    const [keyId = ''] = person.keyIds;
    await use(stage, person, [
      { keyId, usd: 1.25 },
      { keyId, usd: 0.25, status: 'cancelled' },
      { keyId, usd: 0, status: 'failed', provider: null },
      { keyId, usd: 0.5, estimated: true, attempts: 2 },
      { keyId, usd: 7, daysAgo: 45 },
    ]);
    const page = await stage.open('/usage', { as: person });
    await requests(page).first().waitFor();
    expect(await total(page, 'Cost').textContent()).toContain('$2.00');
    expect(await total(page, 'Requests').textContent()).toBe('41 failed, 1 cancelled, 1 estimated');
    expect(await total(page, 'Tokens in').textContent()).toBe('4K1.6K from a cache');
    const told = (await requests(page).allTextContents()).join('\n');
    for (const mark of ['Failed', 'Cancelled', 'Estimated', '2 attempts', 'Completed']) expect(told).toContain(mark);
    await page.getByLabel('Days').selectOption({ label: 'Last 90 days' });
    await expect.poll(() => total(page, 'Cost').textContent()).toContain('$9.00');
    expect(new URL(page.url()).search).toBe('?range=90d');
  });

  it('is told apart by model, key and provider, and narrowed by a link or a choice; the address keeps it', async () => {
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
    await page.getByRole('table', { name: 'Sums by key' }).getByRole('link', { name: 'nightly job' }).click();
    await expect.poll(() => total(page, 'Requests').textContent()).toContain('30');
    const search = new URL(page.url()).searchParams;
    expect(Object.fromEntries(search)).toEqual({ by: 'key', show: 'requests', key: person.keyIds[1] });
    await page.reload();
    await expect.poll(() => total(page, 'Requests').textContent()).toContain('30');
    expect(await page.getByLabel('Key', { exact: true }).first().inputValue()).toBe(person.keyIds[1]);
    await page.getByLabel('Model').first().selectOption('beta/chat');
    await expect.poll(() => total(page, 'Requests').textContent()).toMatch(/^[78]/);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => total(page, 'Requests').textContent()).toContain('90');
  });

  it('takes days by hand, and what the service says of them stands at the field', async () => {
    const person = await user(stage);
    await use(stage, person, month(person.keyIds));
    const page = await stage.open('/usage', { as: person });
    await page.getByLabel('Days').selectOption({ label: 'From … to …' });
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

  it('is downloaded as exactly what is shown', async () => {
    const person = await user(stage);
    const [first = '', second = ''] = person.keyIds;
    await use(stage, person, [
      ...month(person.keyIds),
      { keyId: second, model: 'only/this', usd: 0.1 },
      { keyId: first, daysAgo: 60 },
    ]);
    const page = await stage.open(`/usage?key=${second}&by=model`, { as: person });
    await requests(page).first().waitFor();
    const csvOf = async (name: string): Promise<string[]> => {
      const waiting = page.waitForEvent('download');
      await page.getByRole('link', { name }).click();
      const file = await (await waiting).path();
      return (await readFile(file, 'utf8')).trimEnd().split('\r\n');
    };
    const [head = '', ...lines] = await csvOf('All of these as CSV');
    expect(head).toMatch(/^id,at,workspace_id,key_id/);
    expect(lines).toHaveLength(31);
    expect(lines.every((line) => line.includes(second))).toBe(true);
    const [sumsHead = '', ...sums] = await csvOf('These sums as CSV');
    expect(sumsHead).toMatch(/^day,model,requests/);
    expect(sums.some((line) => line.includes('only/this,1,'))).toBe(true);
  });

  it('pages through requests, and a page that fails can be asked for again', async () => {
    const person = await user(stage);
    const [keyId = ''] = person.keyIds;
    await use(
      stage,
      person,
      Array.from({ length: 120 }, () => ({ keyId })),
    );
    const page = await stage.open('/usage', { as: person });
    await page.getByText('50 so far').waitFor();
    await page.route('**/v1/usage?*cursor=*', (route) =>
      route.fulfill({
        status: 503,
        json: { error: { message: 'Not now.', type: 'service_unavailable', request_id: 'req_9' } },
      }),
    );
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByRole('alert').getByText('Not now.').waitFor();
    expect(await requests(page).count()).toBe(50);
    await page.unroute('**/v1/usage?*cursor=*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('100 so far').waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText('120 in all').waitFor();
    expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
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

  it("shows nothing of another's, whatever the address says", async () => {
    const [one, other] = [await user(stage), await user(stage)];
    await use(stage, one, month(one.keyIds));
    const page = await stage.open(`/usage?workspace=${one.workspaceId}&key=${one.keyIds[0]}`, { as: other });
    await page.getByText('No requests in these days').waitFor();
  });

  thoroughly('looks well', async () => {
    const person = await user(stage);
    const [keyId = ''] = person.keyIds;
    await use(stage, person, [
      ...month(person.keyIds),
      { keyId, status: 'failed', provider: null, usd: 0 },
      { keyId, status: 'cancelled', estimated: true },
      { keyId, attempts: 3 },
    ]);
    await expectGoodLooks(stage, {
      name: 'usage',
      path: '/usage',
      as: person,
      shown: async (page) => {
        await requests(page).first().waitFor();
        await plot(page).locator('svg.recharts-surface').first().waitFor();
      },
    });
  });

  thoroughly('looks well where there is none', async () => {
    await expectGoodLooks(stage, {
      name: 'usage-none',
      path: '/usage?from=2026-01-01&to=2026-01-31',
      as: await stage.person(),
      shown: (page) => page.getByText('No requests in these days').waitFor(),
    });
  });
});
