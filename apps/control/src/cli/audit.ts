import { setTimeout as sleep } from 'node:timers/promises';
import { createRedisState } from '@sotto/state';
import { readAuditUrls } from '../config.ts';
import { counted } from '../counted.ts';
import { openDatabase } from '../database/database.ts';
import { auditLedger, type Finding } from '../money-audit/audit-ledger.ts';
import { auditState } from '../money-audit/audit-state.ts';
import { CliError, type CliProcess, required } from './cli-process.ts';

const shown = 50;

/** Recomputes every balance and compares it with Redis and the settlements. Returns 1 if there are findings. */
export async function audit(context: CliProcess): Promise<number> {
  const { DATABASE_URL, REDIS_URL } = required(readAuditUrls(context.environment));
  const { pool, close } = openDatabase(DATABASE_URL);
  const state = REDIS_URL === undefined ? undefined : createRedisState({ url: REDIS_URL, commandTimeoutMs: 10_000 });
  try {
    const findings: Finding[] = await auditLedger(pool);
    const { rows } = await pool.query<{ transactions: string; settlements: string; accounts: string }>(
      `select (select count(*) from ledger_transactions) as transactions, (select count(*) from settlements) as settlements,
         (select count(*) from accounts) as accounts`,
    );
    const [counts] = rows;
    const sums = (['account', 'transaction', 'settlement'] as const).map((noun) =>
      counted(Number(counts?.[`${noun}s`] ?? 0), noun),
    );
    context.out(`ledger: ${sums.join(', ')}`);
    if (state === undefined) {
      context.out('state: not compared; set REDIS_URL to compare it');
    } else {
      for (let tries = 0; tries < 50 && !(await state.isReady()); tries += 1) await sleep(100);
      if (!(await state.isReady()))
        throw new CliError('the shared state at REDIS_URL is not ready; check that Redis and control run');
      const compared = await auditState({ pool, state, sleep: (ms) => sleep(ms) });
      findings.push(...compared.findings);
      context.out(`state: ${counted(compared.accounts, 'account')} compared`);
    }
    for (const { what, id, expected, found } of findings.slice(0, shown)) {
      context.error(`${what}: ${id}: expected ${expected}, found ${found}`);
    }
    if (findings.length > shown) context.error(`and ${findings.length - shown} more`);
    context.out(
      findings.length === 0 ? 'clean: to the nano-dollar' : `not clean: ${counted(findings.length, 'finding')}`,
    );
    return findings.length === 0 ? 0 : 1;
  } finally {
    await state?.close();
    await close();
  }
}
