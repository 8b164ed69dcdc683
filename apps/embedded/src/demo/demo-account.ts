import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { creditAccount, insertKey, openDatabase } from '@sotto/control';
import { hashSecret } from '@sotto/state';
import { z } from 'zod';
import { keep, readKept } from '../kept-file.ts';

const keptSchema = z.object({
  email: z.string(),
  password: z.string(),
  inference_key: z.string().optional(),
  management_key: z.string().optional(),
});

/** Who can sign in to play, and with which keys. */
export interface DemoAccount {
  readonly email: string;
  readonly password: string;
  readonly inferenceKey: string;
  readonly managementKey: string;
}

const demoCreditNusd = 10_000_000_000n;

/**
 * Makes the demo account at the first start, by the front door, with $10 and a key of each kind; finds it again at the
 * next. Stopped in between, it goes on where it was; a key that was revoked meanwhile, or is of another database, is
 * replaced.
 */
export async function ensureDemoAccount(options: {
  readonly dataDir: string;
  readonly databaseUrl: string;
  readonly controlUrl: string;
}): Promise<DemoAccount> {
  const file = join(options.dataDir, 'demo-account.json');
  const kept = keptSchema.parse(
    (await readKept(file)) ?? { email: 'demo@sotto.localhost', password: randomBytes(12).toString('base64url') },
  );
  await keep(file, kept);
  const { pool, close } = openDatabase(options.databaseUrl);
  try {
    let account = await findAccount(pool, kept.email);
    if (account === undefined) {
      await signUp(options.controlUrl, kept);
      account = await findAccount(pool, kept.email);
    }
    if (account === undefined) throw new Error('the demo account could not be made');
    // Nobody reads its mail: it is as if somebody had.
    await pool.query('update auth_user set email_verified = true where email = $1', [kept.email]);
    await creditAccount(pool, {
      accountId: account.id,
      amountNusd: demoCreditNusd,
      kind: 'adjustment',
      reference: `demo:${account.id}`,
    });
    const { id: accountId, workspace_id: workspaceId } = account;
    const makeKey = async (kind: 'inference' | 'management'): Promise<string> => {
      const key = {
        accountId,
        workspaceId,
        kind,
        name: `Demo ${kind} key`,
        creditLimitNusd: undefined,
        openaiCompatible: true,
      };
      return (await insertKey(pool, key)).key;
    };
    const keyOf = async (kind: 'inference' | 'management', key: string | undefined): Promise<string> =>
      key !== undefined && (await isUsable(pool, accountId, key)) ? key : makeKey(kind);
    const inferenceKey = await keyOf('inference', kept.inference_key);
    const managementKey = await keyOf('management', kept.management_key);
    await keep(file, { ...kept, inference_key: inferenceKey, management_key: managementKey });
    return { email: kept.email, password: kept.password, inferenceKey, managementKey };
  } finally {
    await close();
  }
}

/** Whether a key that was kept still opens what it did, compatibility mode included. */
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

async function signUp(controlUrl: string, { email, password }: { email: string; password: string }): Promise<void> {
  const answer = await fetch(`${controlUrl}/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password, name: 'Demo' }),
  });
  if (!answer.ok) throw new Error(`the demo account could not be made: sign-up answered ${answer.status}`);
}
