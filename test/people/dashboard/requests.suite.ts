import { randomUUID } from 'node:crypto';
import { bookSettlements } from '@sotto/control/testing';
import { monthOf, type ToldSettlement } from '@sotto/state';
import { until } from '@sotto/test-servers';
import type { UsageError } from '@sotto/wire';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { SignedUp } from '../../kit/signed-up.ts';
import { createKey, expectAccessible, expectGoodLooks, type Stage } from './stage.ts';

const minuteMs = 60_000;
export const dayMs = 86_400_000;
export const requests = (page: Page) => page.getByRole('grid', { name: 'Requests' }).locator('tbody tr[data-index]');
/** The place in the list of the row that has the focus. */
const focused = (page: Page) => page.evaluate<string>('document.activeElement?.dataset.index');
const panel = (page: Page) => page.getByRole('complementary', { name: 'Request' });
export const listed = (page: Page, text: string) =>
  page.getByRole('status').filter({ hasText: text }).first().waitFor();
/** Chooses a value of one of the filters of the list. */
export async function narrow(page: Page, filter: string, value: string): Promise<void> {
  await page.getByRole('button', { name: new RegExp(`^${filter}`) }).click();
  // A key has the end of its secret behind its name.
  await page.getByRole('menuitem', { name: new RegExp(`^${value}(?: \\(|$)`) }).click();
}

export interface Use {
  readonly keyId: string;
  readonly daysAgo?: number;
  readonly model?: string;
  readonly provider?: string | null;
  readonly usd?: number;
  readonly status?: 'completed' | 'cancelled' | 'failed';
  readonly estimated?: boolean;
  readonly attempts?: number;
  readonly error?: UsageError;
  readonly failedAttempts?: ToldSettlement['failedAttempts'];
  readonly minutesAgo?: number;
  /** As a settlement says it. */
  readonly firstToken?: number;
}

export interface User extends SignedUp {
  readonly workspaceId: string;
  readonly keyIds: readonly string[];
}

/** A person with two keys, with the ids that the ledger uses. */
export async function user(stage: Stage): Promise<User> {
  const person = await stage.person();
  const page = await stage.open('/verify', { as: person });
  const laptop = await createKey(page, { name: 'laptop' });
  const nightly = await createKey(page, { name: 'nightly job' });
  return { ...person, workspaceId: laptop.workspace_id, keyIds: [laptop.id, nightly.id] };
}

/** Books requests as the broker settles them. */
export async function use(
  stage: Stage,
  { accountId, workspaceId }: Pick<User, 'accountId' | 'workspaceId'>,
  uses: readonly Use[],
): Promise<void> {
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
        at: now - daysAgo * dayMs - (more.minutesAgo ?? 0) * minuteMs,
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
        month: monthOf(now - daysAgo * dayMs),
        error: more.error,
        failedAttempts: more.failedAttempts,
        firstToken: more.firstToken,
      } as const,
    }),
  );
  await bookSettlements(stage.service.pool, batch);
}

/** A request in each of so many minutes, without the books. The newest is of the model `m/0`. */
const fill = (stage: Stage, { accountId, workspaceId, keyIds }: User, count: number) =>
  stage.service.pool.query(
    `insert into usage (id, at, account_id, workspace_id, key_id, operation, model, provider, privacy_class, prompt_tokens,
       cached_tokens, completion_tokens, reasoning_tokens, cost_nusd, attempts, fallback, status, estimated)
     select gen_random_uuid(), date_trunc('minute', now()) - n * interval '1 minute', $1, $2, $3, 'chat', 'm/' || n, 'acme',
       'private', 100, 0, 50, 0, 60500, 1, false, 'completed', false from generate_series(0, $4::int - 1) n`,
    [accountId, workspaceId, keyIds[0], count],
  );

/** The list of requests. */
export function requestsSuite(stage: Stage): void {
  describe('requests', () => {
    it('finds what failed between two minutes, and counts what was refused before', async () => {
      const person = await user(stage);
      const [first = '', second = ''] = person.keyIds;
      await use(stage, person, [
        { keyId: first },
        { keyId: first, status: 'failed', error: 'provider', usd: 0, minutesAgo: 90 },
        { keyId: second, minutesAgo: 200 },
      ]);
      await stage.service.pool.query(
        `insert into refusals (account_id, workspace_id, hour, key_id, kind, epoch, count)
         select $1, $2, date_trunc('hour', now()) - n * interval '1 hour', $3, case n when 5 then 'requests' else 'member_budget' end, 1, n
         from generate_series(1, 5) n`,
        [person.accountId, person.workspaceId, first],
      );
      const page = await stage.open('/usage?view=requests', { as: person });
      await listed(page, '3 requests');
      await page.getByRole('heading', { name: '15 requests refused' }).waitFor();
      const refused = page.getByRole('table', { name: 'Refused requests' });
      await refused.getByRole('row', { name: /Budget of the member \(402\).*laptop.*4/ }).waitFor();
      await refused.getByRole('row', { name: /Requests per minute \(429\).*laptop.*5/ }).waitFor();
      await expectAccessible(page);

      await narrow(page, 'Time', 'From … to …');
      await listed(page, '1 request');
      const utc = (minutesAgo: number) => new Date(Date.now() - minutesAgo * minuteMs).toISOString().slice(0, 16);
      await page.getByLabel('From (UTC)').fill(utc(100));
      await listed(page, '2 requests');
      await page.getByLabel('To (UTC), exclusive').fill(utc(80));
      await listed(page, '1 request');
      await requests(page).filter({ hasText: 'Provider failed' }).waitFor();
      expect(new URL(page.url()).searchParams.get('since')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\dZ$/);
      const href = await page.getByRole('link', { name: 'Export requests' }).getAttribute('href');
      const exported = await (await page.request.get(href ?? '')).text();
      expect(exported.trimEnd().split('\r\n')).toHaveLength(2);
      await expectGoodLooks(stage, {
        ...{ name: 'requests-between', path: new URL(page.url()).pathname + new URL(page.url()).search, as: person },
        widths: [390, 1440],
        shown: (shown) => shown.getByRole('heading', { name: /requests? refused/ }).waitFor(),
      });
      // Somebody who asks why a request failed looks among the failed ones, or at a model.
      await page.goto('/usage?view=requests&status=failed&model=acme/chat');
      await page.getByRole('heading', { name: '15 requests refused' }).waitFor();
      await page.getByText('Counted by whole hours, for all models.').waitFor();
      // No provider was asked for a refused request.
      await page.goto('/usage?view=requests&provider=acme');
      await listed(page, '3 requests');
      expect(await page.getByRole('heading', { name: /requests? refused/ }).count()).toBe(0);
    });

    it('lists requests as a log that filters narrow; each is a chip that the address keeps', async () => {
      const person = await user(stage);
      const [first = '', second = ''] = person.keyIds;
      await use(stage, person, [
        { keyId: first },
        { keyId: first, model: 'beta/chat', provider: 'beta', status: 'failed', error: 'rate_limit', usd: 0 },
        { keyId: second, status: 'failed', error: 'timeout', usd: 0, minutesAgo: 30 },
        { keyId: second, status: 'cancelled', minutesAgo: 180 },
        { keyId: second, daysAgo: 3, attempts: 2 },
      ]);
      const page = await stage.open('/usage?view=requests', { as: person });
      await listed(page, '5 requests');
      expect((await requests(page).first().boundingBox())?.height).toBe(36);
      const told = (await requests(page).allTextContents()).join('\n');
      for (const word of ['Completed', 'Rate limit', 'Timed out', 'Cancelled']) expect(told).toContain(word);
      const search = () => Object.fromEntries(new URL(page.url()).searchParams);
      await narrow(page, 'Time', 'Last 24 hours');
      await listed(page, '4 requests');
      await narrow(page, 'Time', 'Last hour');
      await listed(page, '3 requests');
      await narrow(page, 'Status', 'Failed');
      await listed(page, '2 requests');
      await narrow(page, 'Error', 'Rate limit');
      await listed(page, '1 request');
      await narrow(page, 'Provider', 'beta');
      await narrow(page, 'Model', 'beta/chat');
      await narrow(page, 'Key', 'laptop');
      await listed(page, '1 request');
      await expect.poll(search).toEqual({
        view: 'requests',
        hours: '1h',
        error: 'rate_limit',
        provider: 'beta',
        model: 'beta/chat',
        key: first,
      });
      await page.reload();
      await listed(page, '1 request');
      await page.getByRole('button', { name: 'Remove the filter Error' }).click();
      await page.getByRole('button', { name: 'Key: laptop' }).waitFor();
      await narrow(page, 'Key', 'nightly job');
      await page.getByText('No requests match').waitFor();
      await page.getByRole('button', { name: 'Clear filters' }).first().click();
      await listed(page, '3 requests');
      await narrow(page, 'Member', person.email);
      await listed(page, '3 requests');
      await expect.poll(search).toEqual({ view: 'requests', hours: '1h', member: person.accountId });
      await expectAccessible(page);
    });

    it('shows what it knows of a request beside the list; keys move through it', async () => {
      const person = await user(stage);
      const [keyId = ''] = person.keyIds;
      // Prices of acme/small: 0.5 and 1.5 USD for a million tokens.
      await use(stage, person, [
        { keyId, usd: 0.00125 },
        { keyId, usd: 0, status: 'failed', error: 'provider', attempts: 2, minutesAgo: 1 },
        { keyId, usd: 0.5, estimated: true, minutesAgo: 2 },
      ]);
      const page = await stage.open('/usage?view=requests', { as: person, width: 1440 });
      await listed(page, '3 requests');
      await requests(page).first().focus();
      await page.keyboard.press('Enter');
      await panel(page).getByText('acme/small').waitFor();
      await panel(page).getByRole('table', { name: 'Lines of the charge' }).waitFor();
      expect(await panel(page).textContent()).toMatch(/Completed.*laptop.*1 attempt.*Prompt.*Output.*Total\$0\.00125/);
      await page.keyboard.press('ArrowDown');
      await panel(page).getByText('Provider failed').first().waitFor();
      expect(await focused(page)).toBe('1');
      expect(await panel(page).textContent()).toMatch(/Try again.*this provider was the last.*Nothing was charged/);
      expect(
        await panel(page).getByRole('link', { name: '“Provider failed” in the reference' }).getAttribute('href'),
      ).toBe('/guides/reference/errors#errors-of-usage-provider');
      await expectAccessible(page);
      await page.keyboard.press('End');
      await panel(page)
        .getByText(/Today’s prices do not give this total/)
        .waitFor();
      await panel(page).getByText('so the service counted tokens').waitFor();
      await page.keyboard.press('Escape');
      await panel(page).waitFor({ state: 'hidden' });
      await page.keyboard.press('Home');
      expect(await focused(page)).toBe('0');
    });

    it('lists the attempts of a request with their outcomes, each error with its row of the reference', async () => {
      const person = await user(stage);
      const [keyId = ''] = person.keyIds;
      const [first, second] = [
        { provider: 'acme', error: 'rate_limit' },
        { provider: 'acme/eu', error: 'timeout' },
      ] as const;
      await use(stage, person, [
        { keyId, provider: 'beta', attempts: 3, failedAttempts: [first, second] },
        { keyId, status: 'failed', error: 'request', usd: 0, attempts: 2, failedAttempts: [second], minutesAgo: 1 },
        { keyId, attempts: 2, minutesAgo: 2 },
      ]);
      const page = await stage.open('/usage?view=requests', { as: person, width: 1440 });
      const attempts = panel(page).getByRole('listitem');
      await requests(page).first().click();
      await attempts.first().waitFor();
      expect(await attempts.allTextContents()).toEqual([
        '1 acme: rate limit',
        '2 acme/eu: timed out',
        '3 beta: completed',
      ]);
      const linked = await attempts
        .getByRole('link')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
      const reference = '/guides/reference/errors#errors-of-usage-';
      expect(linked).toEqual([`${reference}rate_limit`, `${reference}timeout`]);
      await expectAccessible(page);
      await page.keyboard.press('ArrowDown');
      await attempts.getByText('bad request').waitFor();
      expect(await attempts.allTextContents()).toEqual(['1 acme/eu: timed out', '2 acme: bad request']);
      await page.keyboard.press('ArrowDown');
      // A broker of an earlier version did not say which.
      await panel(page).getByText('2: 1 provider failed, then this one answered').waitFor();
      expect(await attempts.count()).toBe(0);
    });

    it('has the columns that one chooses, in this browser from then on', async () => {
      const person = await user(stage);
      await use(stage, person, [{ keyId: person.keyIds[0] ?? '' }]);
      const page = await stage.open('/usage?view=requests', { as: person });
      const titles = () => page.getByRole('grid').getByRole('columnheader').allTextContents();
      await requests(page).first().waitFor();
      expect(await titles()).toEqual([
        'Minute (UTC)',
        'Status',
        'Model',
        'Provider',
        'Provider tier',
        'Tokens',
        'Cost',
      ]);
      for (const column of ['Key', 'Provider tier']) {
        await page.getByRole('button', { name: 'Columns' }).click();
        await page.getByRole('menuitem', { name: column }).click();
      }
      await page.reload();
      await requests(page).first().waitFor();
      expect(await titles()).toEqual(['Minute (UTC)', 'Status', 'Model', 'Provider', 'Key', 'Tokens', 'Cost']);
      expect(await requests(page).textContent()).toContain('laptop');
    });

    it('loads requests as one scrolls and draws only those on the screen; a page that fails can be loaded again', async () => {
      const person = await user(stage);
      await fill(stage, person, 1300);
      const page = await stage.open('/usage?view=requests', { as: person });
      await listed(page, 'The newest 200 requests');
      const scrollToEnd = () =>
        page.evaluate("document.querySelector('[role=grid]').closest('.overflow-auto').scrollTop = 1e9");
      await page.route('**/v1/usage?*cursor=*', (route) =>
        route.fulfill({
          status: 500,
          json: { error: { message: 'Not now.', type: 'internal_error', request_id: 'req_9' } },
        }),
      );
      await scrollToEnd();
      await page.getByRole('alert').getByText('Not now.').waitFor();
      await listed(page, 'The newest 200 requests');
      await page.unroute('**/v1/usage?*cursor=*');
      await page.getByRole('button', { name: 'Try again' }).click();
      await listed(page, 'The newest 400 requests');
      await until(async () => {
        await scrollToEnd();
        return (await page.getByText('1,300 requests').count()) > 0;
      }, 'all are loaded');
      await scrollToEnd();
      await page.locator('tr[data-index="1299"]').waitFor();
      expect(await requests(page).count()).toBeLessThan(80);
      await page.locator('tr[data-index="1299"]').focus();
      await page.keyboard.press('Home');
      await expect.poll(() => focused(page)).toBe('0');
    });

    it('scrolls through 50,000 requests: none is lost or repeated, few are drawn, and a return loads one page', async () => {
      const person = await user(stage);
      await fill(stage, person, 50_000);
      const page = await stage.open('/usage?view=requests&range=12m', { as: person, width: 1440 });
      let pages = 0;
      page.on('request', (request) => {
        if (/\/v1\/usage\?.*limit=200/.test(request.url())) pages += 1;
      });
      await listed(page, 'The newest 200 requests');
      expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThan(1200);
      for (let at = 0; at < 2000; at += 15) {
        await page.evaluate(`document.querySelector('[role=grid]').closest('.overflow-auto').scrollTop = ${at * 36}`);
        const row = page.locator(`tr[data-index="${at}"]`);
        await row.waitFor();
        expect(await row.locator('td').nth(2).textContent()).toBe(`m/${at}`);
        expect(await requests(page).count()).toBeLessThan(80);
      }
      expect(pages).toBeLessThan(14);
      await page.getByRole('tab', { name: 'Overview' }).click();
      await page.getByText('No requests on these days').waitFor();
      pages = 0;
      await page.goBack();
      await listed(page, 'The newest 200 requests');
      await requests(page).first().getByText('m/0').waitFor();
      expect(pages).toBe(1);
    });

    it('tells a viewer that they see sums, and shows a member the requests of their own keys', async () => {
      const [owner, member, viewer] = [await user(stage), await stage.person(), await stage.person()];
      for (const [person, role] of [
        [member, 'member'],
        [viewer, 'viewer'],
      ] as const)
        await stage.service.pool.query(
          'insert into workspace_members (workspace_id, account_id, role) values ($1, $2, $3)',
          [owner.workspaceId, person.accountId, role],
        );
      await use(stage, owner, [{ keyId: owner.keyIds[0] ?? '' }]);
      const path = `/usage?view=requests&workspace=${owner.workspaceId}`;
      await (await stage.open(path, { as: viewer })).getByText('Viewers see totals only').waitFor();
      const page = await stage.open(path, { as: member });
      await page.getByText('No requests in this time').waitFor();
      expect(await page.getByRole('button', { name: 'Member' }).count()).toBe(0);
    });
  });
}
