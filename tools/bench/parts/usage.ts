import { listAccounts, readActs, readSpend } from '@sotto/control';
import { startOwnPostgres } from '../../../test/kit/postgres.ts';
import { median } from '../cpu.ts';
import { figure, type Part } from '../page/report.ts';
import {
  bigAccount,
  generateUsage,
  keys,
  members,
  monthsOfUsage,
  rareKey,
  rareModel,
  smallAccount,
  smallWorkspace,
  workspaces,
} from '../usage/generate.ts';
import { measureGrowth } from '../usage/growth.ts';
import { serveUsage } from '../usage/serve.ts';

const dayMs = 86_400_000;
const daysAgo = (count: number): string => new Date(Date.now() - count * dayMs).toISOString().slice(0, 10);
const year = `from=${daysAgo(364)}`;
const month = `from=${daysAgo(29)}`;
const last = 'creator-6/model-48';
const [main, side] = workspaces;

/** No page asks for it. The page Spend shows a month, and the CSV of a year is read month by month. */
const yearOfAll = 'spend of a year, of all accounts (no page asks for it)';

const who = 'month,workspace_id,member_id,key_id,model';

/** Queries of Overview, of the page Usage and of its filters, with their paths. */
const sums: readonly (readonly [string, string])[] = [
  ['today by model', `/usage/daily?from=${daysAgo(0)}&group_by=model`],
  ['two days by hour and model', `/usage/daily?from=${daysAgo(1)}&group_by=hour,model`],
  ['30 days by day and model', `/usage/daily?${month}&group_by=day,model`],
  ['30 days by day, of a workspace', `/usage/daily?${month}&workspace_id=${main}`],
  ['30 days by model, of a workspace', `/usage/daily?${month}&group_by=model&workspace_id=${main}`],
  ['30 days by key, of a workspace', `/usage/daily?${month}&group_by=key_id&workspace_id=${main}`],
  ['year by month, of a workspace', `/usage/daily?${year}&group_by=month&workspace_id=${main}`],
  ['year by day', `/usage/daily?${year}`],
  ['year by model', `/usage/daily?${year}&group_by=model`],
  ['year by model, of a key', `/usage/daily?${year}&group_by=model&key_id=${keys[0]}`],
  ['30 days by month, workspace, member, key and model', `/usage/daily?${month}&group_by=${who}`],
  ['30 days by member, of a workspace', `/usage/daily?${month}&group_by=member_id&workspace_id=${main}`],
  ['30 days by model, of a member', `/usage/daily?${month}&group_by=model&member_id=${members[0]}`],
  ['year by month and member', `/usage/daily?${year}&group_by=month,member_id`],
];

const refusals: readonly (readonly [string, string])[] = [
  ['24 hours of a workspace', `/usage/refusals?workspace_id=${main}`],
  ['30 days of a workspace', `/usage/refusals?workspace_id=${main}&from=${daysAgo(29)}`],
  ['30 days of a key', `/usage/refusals?workspace_id=${main}&key_id=${keys[3]}&from=${daysAgo(29)}`],
];

const filters: readonly (readonly [string, string])[] = [
  ['no filter', ''],
  ['a rare model', `model=${rareModel}`],
  ['a rare key', `key_id=${rareKey}`],
  ['a workspace', `workspace_id=${main}`],
  ['key and model', `key_id=${keys[19]}&model=${last}`],
  ['key and model that never met', `key_id=${keys[0]}&model=${rareModel}`],
  ['workspace and a key of another', `workspace_id=${side}&key_id=${keys[0]}`],
  ['a provider', 'provider=provider-8'],
  ['failed', 'status=failed'],
  ['a class of error', 'error=rate_limit'],
  ['a provider and a class of error', 'provider=provider-8&error=rate_limit'],
  ['30 days', month],
];

/**
 * Measures how fast control returns usage over HTTP to an account that has nine tenths of ten million rows, and by how
 * much the tables grow. `--quick` uses a tenth of the rows. The database is in a temporary folder, which is deleted at the
 * end. `BENCH_USAGE_URL` names one that has been filled already.
 */
export const usage: Part = async ({ quick }) => {
  const rows = quick ? 1_000_000 : 10_000_000;
  const repeats = quick ? 5 : 25;
  const postgres = await startOwnPostgres();
  const growth = await measureGrowth(await postgres.createDatabase(), quick ? 20_000 : 200_000);
  const filled = process.env.BENCH_USAGE_URL;
  const databaseUrl = filled ?? (await postgres.createDatabase());
  const server = await serveUsage(databaseUrl, bigAccount);
  if (filled === undefined) await generateUsage(server.pool, rows, (what) => process.stderr.write(`${what}\n`));

  const slowest: number[] = [];
  const timed = async (ask: () => Promise<unknown>, isOfView = true): Promise<string> => {
    const timings: number[] = [];
    for (let time = 0; time < repeats; time += 1) {
      const startedAt = performance.now();
      await ask();
      timings.push(performance.now() - startedAt);
    }
    if (isOfView) slowest.push(median(timings));
    return figure(median(timings), 1);
  };
  const measure = (path: string): Promise<string> => timed(() => server.get(path));
  const summed: string[][] = [];
  for (const [name, path] of sums) summed.push([name, await measure(path)]);
  const refused: string[][] = [];
  for (const [name, path] of refusals) refused.push([name, await measure(path)]);
  const today = Math.floor(Date.now() / dayMs);
  const { pool } = server;
  const page = { limit: 100, cursor: undefined };
  const spend = (days: number, more: { account_id?: string | undefined } = {}) =>
    readSpend(pool, { days: { from: today - days + 1, to: today + 1 }, ...more }, page);
  const accounts = (search?: string) =>
    listAccounts(pool, { ...page, search }, { now: Date.now, defaultGrantNusd: undefined });
  const acts = (more: Partial<Parameters<typeof readActs>[2]>) =>
    readActs(pool, { kind: 'operator' }, { ...page, ...more });
  const asked: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['spend of 30 days', () => spend(30)],
    [yearOfAll, () => spend(365)],
    ['spend of a year, of a member', () => spend(365, { account_id: members[0] })],
    ['accounts', () => accounts()],
    ['accounts by a part of an address', () => accounts('small-99')],
    ['acts', () => acts({})],
    ['acts by a part of an address', () => acts({ search: 'small-999' })],
    ['acts by an account', () => acts({ actor_account_id: smallAccount })],
    ['acts in a workspace', () => acts({ workspace_id: smallWorkspace })],
    ['rare acts', () => acts({ act: ['account_deleted'] })],
  ];
  const operated: string[][] = [];
  for (const [name, ask] of asked) operated.push([name, await timed(ask, name !== yearOfAll)]);
  const listed: string[][] = [];
  for (const [name, filter] of filters) {
    const first = await measure(`/usage?${filter}`);
    // The cursor of a page in the middle, as a client gets it by asking for the rows before a day.
    const to = daysAgo(filter === month ? 15 : 200);
    const { next_cursor: cursor } = JSON.parse(await server.get(`/usage?limit=1&${filter}&to=${to}`)) as {
      next_cursor: string | null;
    };
    listed.push([name, first, cursor === null ? '–' : await measure(`/usage?${filter}&cursor=${cursor}`)]);
  }
  const exported = await server.download(`/usage?from=${daysAgo(10)}&format=csv`);
  const daily = await sumsPerRow(server.pool);
  await server.stop();
  await postgres.stop();

  return {
    title: 'Usage',
    method: `Control over HTTP, ${repeats} times each, for an account with nine tenths of ${rows.toLocaleString('en')} rows in ${monthsOfUsage} months, with 50 models, 20 keys and two workspaces. An export wrote ${figure(exported.lines / exported.seconds)} rows per second with a heap of at most ${figure(exported.mostHeapMiB)} MiB. A request adds ${figure(growth.bytes)} bytes with its indexes (${growth.tables.join(', ')}). Sums by day take ${figure(daily)} bytes for each key, model and provider of a day, and an entry of the audit log ${figure(growth.bytesPerAct)}.`,
    tables: [
      { caption: 'Sums, p50 in ms', head: ['', ''], rows: summed },
      { caption: 'Refusals, p50 in ms', head: ['', ''], rows: refused },
      {
        caption: 'Pages of 50 requests, p50 in ms',
        head: ['filter', 'first', 'in the middle'],
        rows: listed,
      },
      { caption: 'Pages of operators, p50 in ms', head: ['', ''], rows: operated },
    ],
    promises: [
      { what: 'usage: slowest query of a page, p50', atMost: 100, measured: Math.max(...slowest), unit: 'ms' },
    ],
  };
};

/** Bytes of the three daily sums for each row of the finest. */
async function sumsPerRow(pool: Awaited<ReturnType<typeof serveUsage>>['pool']): Promise<number> {
  const { rows } = await pool.query<{ bytes: string }>(
    `select (pg_total_relation_size('usage_daily') + pg_total_relation_size('usage_daily_routes')
       + pg_total_relation_size('usage_daily_keys')) / (select count(*) from usage_daily) as bytes`,
  );
  return Number(rows[0]?.bytes);
}
