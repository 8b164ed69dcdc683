import { readFile } from 'node:fs/promises';
import { firstTokenBoundsMs } from '@sotto/wire';
import type pg from 'pg';

/** The account that has nine tenths of the rows. */
export const bigAccount = idOf('a', 0);
export const days = 400;
/** The partitions of the rows. */
export const monthsOfUsage = 14;
export const keys = Array.from({ length: 20 }, (_, index) => idOf('c', index));
export const workspaces = [idOf('b', 0), idOf('b', 1)] as const;
/** The big account uses it once in a hundred thousand requests. */
export const rareModel = 'rare/model';
export const rareKey = idOf('c', 999);
/** Everyone whose keys the big account pays for. Each has four keys. */
export const members = Array.from({ length: 5 }, (_, index) => idOf('9', index));
const smallAccounts = 10_000;
export const [smallAccount, smallWorkspace] = [idOf('d', 1), idOf('f', 1)];

function idOf(kind: string, number: number): string {
  return `${kind.repeat(8)}-0000-4000-8000-${String(number).padStart(12, '0')}`;
}

/**
 * Fills `usage` and its daily sums inside the server. Nine tenths of the rows belong to one account, over 400 days, 50
 * models (some with three providers) and 20 keys in two workspaces, unevenly as in real use. The rest belong to 10,000
 * small accounts with a workspace and a key each. Accounts, people, workspaces and keys have names. Each month has its
 * partition. It creates indexes at the end. Every combination of key and model has rows on nearly every day, so
 * the daily sums are as large as possible.
 */
export async function generateUsage(pool: pg.Pool, rows: number, say: (what: string) => void): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("set maintenance_work_mem = '1GB'; set work_mem = '256MB'; set statement_timeout = 0");
    const { rows: indexes } = await client.query<{ indexname: string; indexdef: string }>(
      "select indexname, replace(indexdef, ' ON ONLY ', ' ON ') as indexdef from pg_indexes where tablename = 'usage'",
    );
    await divideByMonth(client);
    for (const { indexname } of indexes) await client.query(`drop index ${indexname}`);
    const chunk = Math.ceil(rows / 10);
    for (let from = 0; from < rows; from += chunk) {
      await client.query(insertRows, [from, Math.min(rows, from + chunk) - 1, rows]);
      say(`${Math.min(rows, from + chunk)} rows`);
    }
    for (const { indexname, indexdef } of indexes) {
      await client.query(indexdef);
      say(indexname);
    }
    await fillDaily(client);
    say('daily sums');
    for (const statement of insertPeople) await client.query(statement);
    say('accounts and keys');
    await client.query(insertRefusals, [rows]);
    say('refusals');
    await client.query(insertActs, [rows]);
    say('acts');
    await client.query('vacuum analyze');
    say('vacuumed');
  } finally {
    client.release();
  }
}

/** Gives each month of the rows its partition, instead of the first, which has them all. */
async function divideByMonth(client: pg.PoolClient): Promise<void> {
  await client.query('drop table usage_first');
  const today = new Date();
  for (let ago = monthsOfUsage - 1; ago >= 0; ago -= 1) {
    const [from, to] = [-ago, 1 - ago].map((month) =>
      new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + month)).toISOString(),
    );
    const name = `usage_${from?.slice(0, 7).replace('-', '_')}`;
    await client.query(`create table ${name} partition of usage for values from ('${from}') to ('${to}')`);
  }
}

/** Builds the daily sums of all rows. */
async function fillDaily(client: pg.PoolClient): Promise<void> {
  await client.query(await readFile(new URL('fill-daily.sql', import.meta.url), 'utf8'));
  await client.query(insertFirstTokens);
}

/** Every class of time to the first token on each day of each workspace, so this table, too, is as large as possible. */
const insertFirstTokens = `
  insert into usage_daily_first_token (account_id, day, workspace_id, class, answers)
  select account_id, day, workspace_id, class, ceil(sum(requests) / ${firstTokenBoundsMs.length + 1}.0)
  from usage_daily cross join generate_series(0, ${firstTokenBoundsMs.length}) as class
  group by 1, 2, 3, 4`;

/** Three kinds of refusals of each key of the big account in each hour of 90 days, and of other accounts, as many as $1 rows in all. */
const insertRefusals = `
  insert into refusals (account_id, workspace_id, hour, key_id, kind, epoch, count)
  select case when n < 20 then '${bigAccount}' else 'dddddddd-0000-4000-8000-' || lpad(n::text, 12, '0') end::uuid,
    case when n < 20 then '${workspaces[0]}' else gen_random_uuid() end::uuid, date_trunc('hour', now()) - hours * interval '1 hour',
    ('cccccccc-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, kind, 1, 1 + (random() * 20)::int
  from generate_series(0, $1::int / (90 * 24 * 3)) n cross join generate_series(0, 90 * 24 - 1) hours
    cross join unnest(array['member_budget', 'requests', 'model']) kind
  on conflict do nothing`;

const smallId = (kind: string): string => `('${kind.repeat(8)}-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid`;

/** An act for each ten of $1 requests, by all small accounts, over the same days. One in ten thousand is rare. */
const insertActs = `
  insert into acts (id, at, actor, actor_account_id, act, account_id, workspace_id, details)
  select gen_random_uuid(), now() - interval '${days} days' * random(), 'account', ${smallId('d')},
    case when i % 10000 = 0 then 'account_deleted' else 'key_created' end, ${smallId('d')}, ${smallId('f')}, '{}'::jsonb
  from (select i, i % ${smallAccounts} as n from generate_series(1, $1::int / 10) i) as drawn`;

/** The people, accounts, workspaces and keys that the rows name. */
const insertPeople = [
  `insert into auth_user (id, name, email)
   select id, id, id || '@people.example' from (
     select 'small-' || n as id from generate_series(0, ${smallAccounts - 1}) as n
     union all select 'member-' || n from generate_series(0, ${members.length - 1}) as n) as people`,
  `insert into accounts (id, user_id, name, wallet_id)
   select ${smallId('d')}, 'small-' || n, 'bench', 'small-' || n from generate_series(0, ${smallAccounts - 1}) as n
   union all select ${smallId('9')}, 'member-' || n, 'bench', 'member-' || n from generate_series(0, ${members.length - 1}) as n
   union all select '${bigAccount}', null, 'bench', 'big' on conflict do nothing`,
  `insert into workspaces (id, account_id, name, preferences)
   select ${smallId('f')}, ${smallId('d')}, 'Workspace ' || n, '{}'::jsonb from generate_series(0, ${smallAccounts - 1}) as n
   union all select id::uuid, '${bigAccount}', 'Workspace', '{}'::jsonb from unnest(array['${workspaces.join("', '")}']) as id`,
  `insert into api_keys (id, account_id, workspace_id, kind, name, hash, preview, created_by)
   select ${smallId('e')}, ${smallId('d')}, ${smallId('f')}, 'inference', 'key', 'small-' || n, 'key', ${smallId('d')}
     from generate_series(0, ${smallAccounts - 1}) as n
   union all select ${smallId('c')}, '${bigAccount}',
     case when n < ${keys.length} and n >= 15 then '${workspaces[1]}' else '${workspaces[0]}' end::uuid,
     'inference', 'key ' || n, 'big-' || n, 'key', ('{${members.join(',')}}'::uuid[])[1 + n % ${members.length}]
     from (select * from generate_series(0, ${keys.length - 1}) union all select 999) as keys (n)`,
  'analyze',
];

/** Rows $1 to $2 of $3, in order of time. */
const insertRows = `
  insert into usage (id, at, account_id, workspace_id, key_id, operation, model, provider, privacy_class, prompt_tokens,
    cached_tokens, completion_tokens, reasoning_tokens, cost_nusd, attempts, fallback, status, estimated, error)
  select gen_random_uuid(),
    date_trunc('minute', now() - interval '${days} days' * (1 - n::float8 / $3::int8)),
    account,
    case when not of_big then replace(account::text, 'dddddddd', 'ffffffff') when key >= 15 then '${workspaces[1]}'
      else '${workspaces[0]}' end::uuid,
    case when rare then '${rareKey}' when of_big then 'cccccccc-0000-4000-8000-' || lpad(key::text, 12, '0')
      else replace(account::text, 'dddddddd', 'eeeeeeee') end::uuid,
    case when model >= 48 then 'embeddings' else 'chat' end,
    case when rare then '${rareModel}' else 'creator-' || model % 7 || '/model-' || model end,
    case when rare then null else 'provider-' || (model + case when model % 5 = 0 then (random() * 2)::int else 0 end) % 9 end,
    case when failed then null when model % 3 = 0 then 'tee' else 'private' end,
    (random() * 4000)::int, (random() * 500)::int, (random() * 1000)::int, 0, (random() * 5000000)::int8, 1, false,
    case when failed then 'failed' when random() < 0.02 then 'cancelled' else 'completed' end, random() < 0.01,
    case when failed and random() < 0.05 then 'rate_limit' when failed then 'provider' end
  from (
    select n, n % 10 <> 0 as of_big, n % 100000 = 1 as rare, random() < 0.01 as failed,
      case when n % 10 <> 0 then '${bigAccount}' else 'dddddddd-0000-4000-8000-' || lpad(floor(random() * ${smallAccounts})::int::text, 12, '0') end::uuid as account,
      floor(50 * power(random(), 1.5))::int as model, floor(20 * power(random(), 1.5))::int as key
    from generate_series($1::int8, $2::int8) as n
  ) as drawn`;
