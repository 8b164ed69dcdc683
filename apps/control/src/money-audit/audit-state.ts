import {
  type AuditedBudget,
  type AuditedFunds,
  type EpochPort,
  type ProjectionPort,
  StateUnavailableError,
  shardOfWallet,
} from '@sotto/state';
import type pg from 'pg';
import type { SqlRow } from '../database/columns.ts';
import { heldLimit } from '../database/held-rules.ts';
import type { accounts, apiKeys, budgets } from '../database/schema.ts';
import { type BudgetOwner, largestSum, oldestMonth, spentOf, stateIdOf } from '../ledger/budget-months.ts';
import { spendableNusd } from '../ledger/post-transaction.ts';
import { isUsable } from '../projection/projected-rows.ts';
import type { Finding } from './audit-ledger.ts';

type AccountRow = SqlRow<typeof accounts, 'id' | 'wallet_id' | 'balance_nusd' | 'version'>;
type KeyRow = SqlRow<typeof apiKeys, 'id' | 'account_id' | 'hash' | 'funds_version'> & {
  wallet_id: string;
  funds: string | null;
};
type BudgetRow = BudgetOwner &
  SqlRow<typeof budgets, 'id' | 'version'> & {
    limit_nusd: string;
    wallet_id: string;
    months: Readonly<Record<string, string>> | null;
  };
/** The ledger’s values of a wallet or a key, and its place in the state. */
interface Expected {
  readonly id: string;
  readonly kind: 'wallet' | 'key';
  readonly name: string;
  readonly shard: number;
  readonly fundsNusd: bigint;
  readonly version: number;
}

/** The ledger’s values of a budget, and its place in the state. */
interface ExpectedBudget {
  readonly id: string;
  readonly kind: 'budget';
  readonly name: string;
  readonly shard: number;
  readonly limitNusd: bigint;
  readonly version: number;
  /** Spending by month. The state may have forgotten older months than it keeps. */
  readonly months: ReadonlyMap<string, bigint>;
}

export interface AuditStateDependencies {
  readonly pool: pg.Pool;
  readonly state: Pick<ProjectionPort, 'readBooks'> & Pick<EpochPort, 'isOpen'>;
  readonly sleep: (ms: number) => Promise<void>;
}

const pageSize = 500;
/** A booking in progress reaches the state within this many attempts. A difference after that is a finding. */
const attempts = 50;
const betweenAttemptsMs = 200;
const firstId = '00000000-0000-0000-0000-000000000000';

/**
 * Compares a page of accounts, their keys and their budgets with the shared state, to the nano-dollar. The funds must equal the
 * ledger’s at the same version. The held and unbooked sums must equal the holds and notes. Returns the differences, and
 * the account after which the next page begins. `next` is undefined after the last page. Throws `StateUnavailableError`
 * if a difference is found while the state is rebuilt, because such a difference means nothing.
 */
export async function auditPage(
  deps: AuditStateDependencies,
  after: string = firstId,
): Promise<{
  readonly findings: Finding[];
  readonly accountIds: readonly string[];
  readonly next: string | undefined;
}> {
  const { rows } = await deps.pool.query<{ id: string }>('select id from accounts where id > $1 order by id limit $2', [
    after,
    pageSize,
  ]);
  const accountIds = rows.map(({ id }) => id);
  let ids = accountIds;
  let findings: Finding[] = [];
  for (let attempt = 0; attempt < attempts && ids.length > 0; attempt += 1) {
    if (attempt > 0) await deps.sleep(betweenAttemptsMs);
    const mismatches = await compare(deps, ids);
    findings = mismatches.flatMap(({ findings: found }) => found);
    ids = mismatches.map(({ accountId }) => accountId);
  }
  if (findings.length > 0 && !(await deps.state.isOpen())) throw new StateUnavailableError('not open');
  return { findings, accountIds, next: accountIds.length === pageSize ? accountIds.at(-1) : undefined };
}

export async function auditState(deps: AuditStateDependencies): Promise<{ findings: Finding[]; accounts: number }> {
  const findings: Finding[] = [];
  let accounts = 0;
  for (let after: string | undefined = firstId; after !== undefined; ) {
    const page = await auditPage(deps, after);
    findings.push(...page.findings);
    accounts += page.accountIds.length;
    after = page.next;
  }
  return { findings, accounts };
}

async function compare(
  { pool, state }: AuditStateDependencies,
  accountIds: readonly string[],
): Promise<{ readonly accountId: string; readonly findings: Finding[] }[]> {
  const byAccount = await readExpected(pool, accountIds);
  const byShard = new Map<number, { walletIds: string[]; keyHashes: string[]; budgetIds: string[] }>();
  for (const { shard, kind, name } of [...byAccount.values()].flat()) {
    const ofShard = byShard.get(shard) ?? { walletIds: [], keyHashes: [], budgetIds: [] };
    byShard.set(shard, ofShard);
    ofShard[listOf[kind]].push(name);
  }
  const found = new Map<string, AuditedFunds>();
  const foundBudgets = new Map<string, AuditedBudget>();
  for (const [shard, names] of byShard) {
    const { wallets, keys, budgets } = await state.readBooks(shard, names);
    for (const [name, budget] of budgets) foundBudgets.set(name, budget);
    for (const [name, funds] of wallets) found.set(`wallet ${name}`, funds);
    for (const [name, funds] of keys) found.set(`key ${name}`, funds);
  }
  return [...byAccount].flatMap(([accountId, expected]) => {
    const findings = expected.flatMap((each) =>
      each.kind === 'budget'
        ? judgeBudget(each, foundBudgets.get(each.name))
        : judge(each, found.get(`${each.kind} ${each.name}`)),
    );
    return findings.length === 0 ? [] : [{ accountId, findings }];
  });
}

const listOf = { wallet: 'walletIds', key: 'keyHashes', budget: 'budgetIds' } as const;

function judgeBudget({ id, limitNusd, version, months }: ExpectedBudget, found: AuditedBudget | undefined): Finding[] {
  if (found === undefined)
    return [{ what: 'a budget is not in the state', id, expected: `${limitNusd}`, found: 'none' }];
  const { findings, compare } = comparing(id);
  compare('a budget in the state is not as new as the ledger', version, found.version);
  if (found.version === version) compare('the limit of a budget differs', limitNusd, found.limitNusd);
  const oldest = oldestMonth(Date.now());
  const nothing = { spentNusd: 0n, openNusd: 0n, countedNusd: 0n };
  for (const month of new Set([...months.keys(), ...found.months.keys()])) {
    const { spentNusd, openNusd, countedNusd } = found.months.get(month) ?? nothing;
    if (month >= oldest) compare(`the spending of a budget differs in ${month}`, months.get(month) ?? 0n, spentNusd);
    compare(`what is open of a budget in ${month} is not the sum of its parts`, countedNusd, openNusd);
  }
  return findings;
}

function judge({ id, kind, fundsNusd, version }: Expected, found: AuditedFunds | undefined): Finding[] {
  if (found === undefined)
    return [{ what: `a ${kind} is not in the state`, id, expected: `${fundsNusd}`, found: 'none' }];
  const { findings, compare } = comparing(id);
  compare(`a ${kind} in the state is not as new as the ledger`, `version ${version}`, `version ${found.version}`);
  if (found.version === version) compare(`the funds of a ${kind} differ`, fundsNusd, found.fundsNusd);
  compare(`what is held of a ${kind} is not the sum of its holds`, found.holdsNusd, found.heldNusd);
  compare(`what is unbooked of a ${kind} is not the sum of its notes`, found.notesNusd, found.unbookedNusd);
  return findings;
}

/** Collects the values of one record that differ. */
function comparing(id: string) {
  const findings: Finding[] = [];
  const compare = (what: string, expected: unknown, found: unknown): void => {
    if (expected !== found) findings.push({ what, id, expected: `${expected}`, found: `${found}` });
  };
  return { findings, compare };
}

async function readExpected(
  pool: pg.Pool,
  accountIds: readonly string[],
): Promise<Map<string, (Expected | ExpectedBudget)[]>> {
  const accounts = await pool.query<AccountRow>(
    `select id, wallet_id, ${spendableNusd} as balance_nusd, version from accounts where id = any($1::uuid[])`,
    [accountIds],
  );
  const keys = await pool.query<KeyRow>(
    `select k.id, k.account_id, k.hash, a.wallet_id, (${heldLimit} - k.spent_nusd) as funds, k.funds_version
     from api_keys k join accounts a on a.id = k.account_id join workspaces w on w.id = k.workspace_id
     join accounts creator on creator.id = k.created_by
     where a.id = any($1::uuid[]) and ${isUsable}`,
    [accountIds],
  );
  const limits = await pool.query<BudgetRow>(
    `select b.id, b.workspace_id, b.member_id, b.key_id, b.tag_id, b.limit_nusd, b.version, w.account_id, a.wallet_id,
       (select json_object_agg(s.month, s.nusd) from (
         select m.month, ${largestSum}::text as nusd from ${spentOf('w.account_id')} where m.month >= $2 group by m.month) s) as months
     from budgets b join workspaces w on w.id = b.workspace_id join accounts a on a.id = w.account_id
     where a.id = any($1::uuid[]) and b.limit_nusd is not null`,
    [accountIds, oldestMonth(Date.now())],
  );
  const byAccount = new Map<string, (Expected | ExpectedBudget)[]>();
  for (const { id, wallet_id: name, balance_nusd, version } of accounts.rows) {
    const shard = shardOfWallet(name);
    byAccount.set(id, [{ id, kind: 'wallet', name, shard, fundsNusd: BigInt(balance_nusd), version: Number(version) }]);
  }
  for (const { id, account_id, hash: name, wallet_id, funds, funds_version } of keys.rows) {
    const shard = shardOfWallet(wallet_id);
    const fundsNusd = BigInt(funds ?? '0');
    byAccount.get(account_id)?.push({ id, kind: 'key', name, shard, fundsNusd, version: Number(funds_version) });
  }
  for (const row of limits.rows) {
    byAccount.get(row.account_id)?.push({
      ...{ id: row.id, kind: 'budget', name: stateIdOf(row), shard: shardOfWallet(row.wallet_id) },
      limitNusd: BigInt(row.limit_nusd),
      version: Number(row.version),
      months: new Map(Object.entries(row.months ?? {}).map(([month, nusd]) => [month, BigInt(nusd)])),
    });
  }
  return byAccount;
}
