import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createPerson, creditAccount, insertKey, openDatabase, setPassword } from '@sotto/control';
import { hashSecret } from '@sotto/state';
import * as z from 'zod';
import { keep, readKept } from '../kept-file.ts';

const keptSchema = z.object({
  email: z.string(),
  password: z.string(),
  inference_key: z.string().optional(),
  management_key: z.string().optional(),
});

/** The credentials and keys of the demo account. */
export interface DemoAccount {
  readonly email: string;
  readonly password: string;
  readonly inferenceKey: string;
  readonly managementKey: string;
  /** Whether the ledger has money for it. */
  readonly hasBalance: boolean;
}

const demoCreditNusd = 10_000_000_000n;

/**
 * Creates the demo account at the first start, with $10 and a key of each kind, and finds it at later starts. The demo address
 * receives no mail and counts as verified. An interrupted creation is resumed. A key that was revoked, or that belongs to another
 * database, is replaced. An account that another data directory made gets the password of this one.
 */
export async function ensureDemoAccount(options: {
  readonly dataDir: string;
  readonly databaseUrl: string;
}): Promise<DemoAccount> {
  const file = join(options.dataDir, 'demo-account.json');
  const kept = keptSchema.parse(
    (await readKept(file)) ?? { email: 'demo@sotto.localhost', password: randomBytes(12).toString('base64url') },
  );
  await keep(file, kept);
  const { pool, close } = openDatabase(options.databaseUrl);
  try {
    let account = await findAccount(pool, kept.email);
    const isFound = account !== undefined;
    if (account === undefined) {
      await createPerson(pool, { ...kept, name: 'Demo' });
      account = await findAccount(pool, kept.email);
    }
    if (account === undefined) throw new Error('cannot create the demo account');
    const balance = await creditAccount(pool, {
      accountId: account.id,
      amountNusd: demoCreditNusd,
      kind: 'adjustment',
      reference: `demo:${account.id}`,
    });
    const { id: accountId, workspace_id: workspaceId } = account;
    const keyOf = async (kind: 'inference' | 'management', key: string | undefined): Promise<string> => {
      if (key !== undefined && (await isUsable(pool, accountId, key))) return key;
      const made = await insertKey(pool, {
        accountId,
        workspaceId,
        kind,
        name: `Demo ${kind} key`,
        creditLimitNusd: undefined,
        openaiCompatible: true,
      });
      return made.key;
    };
    // The database has never had the file's keys, so the file is new here, and its password would open nothing.
    if (isFound && !(await hasHad(pool, accountId, [kept.inference_key, kept.management_key])))
      await setPassword(pool, kept);
    const inferenceKey = await keyOf('inference', kept.inference_key);
    const managementKey = await keyOf('management', kept.management_key);
    await keep(file, { ...kept, inference_key: inferenceKey, management_key: managementKey });
    const hasBalance = (balance?.balanceNusd ?? 0n) > 0n;
    return { email: kept.email, password: kept.password, inferenceKey, managementKey, hasBalance };
  } finally {
    await close();
  }
}

/** Whether the account has or had one of these keys. */
async function hasHad(pool: Pool, accountId: string, keys: readonly (string | undefined)[]): Promise<boolean> {
  const { rowCount } = await pool.query('select 1 from api_keys where account_id = $1 and hash = any($2)', [
    accountId,
    keys.flatMap((key) => (key === undefined ? [] : [hashSecret(key)])),
  ]);
  return rowCount !== 0;
}

/** Whether a stored key still works, including compatibility mode. */
async function isUsable(pool: Pool, accountId: string, key: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    'select 1 from api_keys where hash = $1 and account_id = $2 and revoked_at is null and openai_compatible',
    [hashSecret(key), accountId],
  );
  return rowCount === 1;
}

type Pool = ReturnType<typeof openDatabase>['pool'];

async function findAccount(pool: Pool, email: string): Promise<{ id: string; workspace_id: string } | undefined> {
  const { rows } = await pool.query<{ id: string; workspace_id: string }>(
    `select a.id, w.id as workspace_id from auth_user u join accounts a on a.user_id = u.id
     join workspaces w on w.account_id = a.id and w.is_default where u.email = $1`,
    [email],
  );
  return rows[0];
}
