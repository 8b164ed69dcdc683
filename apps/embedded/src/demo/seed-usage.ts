import { type AttributedSettlement, bookSettlements, creditAccount, openDatabase } from '@sotto/control';
import { hashSecret, monthOf } from '@sotto/state';
import { attemptErrors } from '@sotto/wire';
import type { DemoAccount } from './demo-account.ts';

const days = 30;
const minuteMs = 60_000;
const dayMs = 86_400_000;
const creditNusd = 50_000_000_000n;

/** The models of the seeded requests, with provider, price in nano-USD per token, and share of the requests. */
const traffic = [
  { model: 'openai/gpt-5.4-mini', provider: 'openai', privacyClass: 'anonymous', input: 250, output: 2_000, share: 5 },
  {
    model: 'anthropic/claude-haiku-4.5',
    provider: 'anthropic',
    privacyClass: 'anonymous',
    input: 1_000,
    output: 5_000,
    share: 2,
  },
  { model: 'demo/chat', provider: 'demo', privacyClass: 'private', input: 100, output: 400, share: 3 },
] as const;

/**
 * Gives the demo account a month of usage, so that a developer sees pages with something on them. The ledger books it as
 * it books real settlements: `sotto-control audit` stays clean. A second call changes nothing, because each settlement
 * has an id of its own.
 */
export async function seedUsage(databaseUrl: string, account: DemoAccount, nowMs: number): Promise<void> {
  const { pool, close } = openDatabase(databaseUrl);
  try {
    const { rows } = await pool.query<{ id: string; account_id: string; workspace_id: string }>(
      'select id, account_id, workspace_id from api_keys where hash = $1',
      [hashSecret(account.inferenceKey)],
    );
    const [key] = rows;
    if (key === undefined) throw new Error('the demo account has no key');
    const owner = { accountId: key.account_id, workspaceId: key.workspace_id, keyId: key.id };
    const reference = `seed:${owner.accountId}`;
    await creditAccount(pool, { accountId: owner.accountId, amountNusd: creditNusd, kind: 'adjustment', reference });
    for (let day = days; day > 0; day -= 1) {
      await bookSettlements(pool, settlementsOf({ reference, owner, day, dayStartMs: nowMs - day * dayMs }));
    }
  } finally {
    await close();
  }
}

/** The settlements of one day: more on weekdays, each hour a little different, every fortieth one failed. */
function settlementsOf({
  reference,
  owner,
  day,
  dayStartMs,
}: {
  readonly reference: string;
  readonly owner: NonNullable<AttributedSettlement['owner']>;
  readonly day: number;
  readonly dayStartMs: number;
}): AttributedSettlement[] {
  const isWeekend = new Date(dayStartMs).getUTCDay() % 6 === 0;
  const requests = (isWeekend ? 8 : 24) + (day % 7) * 3;
  return Array.from({ length: requests }, (_, index): AttributedSettlement => {
    const { model, provider, privacyClass, input, output } = pick(index + day);
    const failed = (index + day) % 40 === 0;
    const promptTokens = 300 + ((index * 977 + day * 131) % 5_000);
    const completionTokens = failed ? 0 : 50 + ((index * 613 + day * 17) % 1_500);
    const chargeNusd = failed ? 0 : promptTokens * input + completionTokens * output;
    const at = dayStartMs + Math.floor((index * dayMs) / requests);
    return {
      owner,
      settlement: {
        v: 1,
        id: `${reference}:${day}:${index}`,
        kind: failed ? 'release' : 'charge',
        accountRef: '',
        chargeNusd: String(chargeNusd),
        at: at - (at % minuteMs),
        operation: 'chat',
        model,
        provider,
        privacyClass,
        promptTokens,
        cachedTokens: index % 3 === 0 ? Math.floor(promptTokens / 2) : 0,
        completionTokens,
        reasoningTokens: 0,
        attempts: index % 11 === 0 ? 2 : 1,
        fallback: index % 11 === 0,
        status: failed ? 'failed' : 'completed',
        estimated: false,
        month: monthOf(at),
        ...(failed ? { error: 'provider' } : {}),
        ...(index % 11 === 0
          ? { failedAttempts: [{ provider: `${provider}/eu`, error: attemptErrors[day % 3] ?? 'provider' }] }
          : {}),
      },
    };
  });
}

/** One of the kinds of traffic, in the proportion of their shares. */
function pick(index: number): (typeof traffic)[number] {
  const wheel = traffic.flatMap((kind) => Array.from({ length: kind.share }, () => kind));
  return wheel[(index * 7) % wheel.length] ?? traffic[0];
}
