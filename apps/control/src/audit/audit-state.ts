import {
  type AuditedFunds,
  type EpochPort,
  type ProjectionPort,
  StateUnavailableError,
  shardOfWallet,
} from '@sotto/state';
import type pg from 'pg';
import type { Finding } from './audit-ledger.ts';

interface AccountRow {
  id: string;
  wallet_id: string;
  balance_nusd: string;
  version: string;
}
interface KeyRow {
  id: string;
  hash: string;
  wallet_id: string;
  funds: string | null;
  funds_version: string;
}
/** What the ledger says of a wallet or a key, and where to find it in the state. */
interface Expected {
  readonly id: string;
  readonly kind: 'wallet' | 'key';
  readonly name: string;
  readonly shard: number;
  readonly fundsNusd: bigint;
  readonly version: number;
}

export interface AuditStateDependencies {
  readonly pool: pg.Pool;
  readonly state: Pick<ProjectionPort, 'readBooks'> & Pick<EpochPort, 'isOpen'>;
  readonly sleep: (ms: number) => Promise<void>;
}

const pageSize = 500;
/** What is being booked at this moment is told within this many looks; what is not told then is wrong. */
const looks = 50;
const betweenLooksMs = 200;
const firstId = '00000000-0000-0000-0000-000000000000';

/**
 * Compares a page of accounts and their keys with the shared state, to the nano-dollar: the funds with the ledger's,
 * at the same version, and the sums of holds and notes with the holds and notes. Answers what differs, and after whom
 * to go on; undefined: that was the last page. Throws `StateUnavailableError` where something differs in a state that is
 * being rebuilt: that says nothing.
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
  for (let look = 0; look < looks && ids.length > 0; look += 1) {
    if (look > 0) await deps.sleep(betweenLooksMs);
    const doubtful = await compare(deps, ids);
    findings = doubtful.flatMap(({ findings: found }) => found);
    ids = doubtful.map(({ accountId }) => accountId);
  }
  if (findings.length > 0 && !(await deps.state.isOpen())) throw new StateUnavailableError('not open');
  return { findings, accountIds, next: accountIds.length === pageSize ? accountIds.at(-1) : undefined };
}

/** Compares every account. */
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
  const wanted = new Map<number, { walletIds: string[]; keyHashes: string[] }>();
  for (const { shard, kind, name } of [...byAccount.values()].flat()) {
    const ofShard = wanted.get(shard) ?? { walletIds: [], keyHashes: [] };
    wanted.set(shard, ofShard);
    (kind === 'wallet' ? ofShard.walletIds : ofShard.keyHashes).push(name);
  }
  const found = new Map<string, AuditedFunds>();
  for (const [shard, names] of wanted) {
    const { wallets, keys } = await state.readBooks(shard, names);
    for (const [name, funds] of wallets) found.set(`wallet ${name}`, funds);
    for (const [name, funds] of keys) found.set(`key ${name}`, funds);
  }
  return [...byAccount].flatMap(([accountId, expected]) => {
    const findings = expected.flatMap((each) => judge(each, found.get(`${each.kind} ${each.name}`)));
    return findings.length === 0 ? [] : [{ accountId, findings }];
  });
}

function judge({ id, kind, fundsNusd, version }: Expected, found: AuditedFunds | undefined): Finding[] {
  if (found === undefined)
    return [{ what: `a ${kind} is not in the state`, id, expected: `${fundsNusd}`, found: 'none' }];
  const findings: Finding[] = [];
  if (found.version !== version) {
    const [expected, there] = [`version ${version}`, `version ${found.version}`];
    findings.push({ what: `a ${kind} in the state is not as new as the ledger`, id, expected, found: there });
  } else if (found.fundsNusd !== fundsNusd) {
    findings.push({ what: `the funds of a ${kind} differ`, id, expected: `${fundsNusd}`, found: `${found.fundsNusd}` });
  }
  if (found.heldNusd !== found.holdsNusd) {
    const [expected, there] = [`${found.holdsNusd}`, `${found.heldNusd}`];
    findings.push({ what: `what is held of a ${kind} is not the sum of its holds`, id, expected, found: there });
  }
  if (found.unbookedNusd !== found.notesNusd) {
    const [expected, there] = [`${found.notesNusd}`, `${found.unbookedNusd}`];
    findings.push({ what: `what is unbooked of a ${kind} is not the sum of its notes`, id, expected, found: there });
  }
  return findings;
}

async function readExpected(pool: pg.Pool, accountIds: readonly string[]): Promise<Map<string, Expected[]>> {
  const accounts = await pool.query<AccountRow>(
    'select id, wallet_id, balance_nusd, version from accounts where id = any($1::uuid[])',
    [accountIds],
  );
  const keys = await pool.query<KeyRow & { account_id: string }>(
    `select k.id, k.account_id, k.hash, a.wallet_id, (k.credit_limit_nusd - k.spent_nusd) as funds, k.funds_version
     from api_keys k join accounts a on a.id = k.account_id where a.id = any($1::uuid[])`,
    [accountIds],
  );
  const byAccount = new Map<string, Expected[]>();
  for (const { id, wallet_id: name, balance_nusd, version } of accounts.rows) {
    const shard = shardOfWallet(name);
    byAccount.set(id, [{ id, kind: 'wallet', name, shard, fundsNusd: BigInt(balance_nusd), version: Number(version) }]);
  }
  for (const { id, account_id, hash: name, wallet_id, funds, funds_version } of keys.rows) {
    const shard = shardOfWallet(wallet_id);
    const fundsNusd = BigInt(funds ?? '0');
    byAccount.get(account_id)?.push({ id, kind: 'key', name, shard, fundsNusd, version: Number(funds_version) });
  }
  return byAccount;
}
