import { repeat } from '@sotto/server';
import type { Domain } from '../domain.ts';
import type { ControlEvents } from '../events.ts';
import type { ControlMetrics } from '../metrics/control-metrics.ts';
import { auditBalances, auditRejected } from './audit-ledger.ts';
import { type AuditStateDependencies, auditPage } from './audit-state.ts';

export interface MoneyAuditDependencies extends AuditStateDependencies {
  readonly metrics: ControlMetrics;
  readonly events: Pick<ControlEvents, 'auditFinding'>;
  readonly now: () => number;
}

const stepMs = 10_000;
/** The minimum time between the starts of two passes over all accounts. */
const betweenPassesMs = 600_000;

export function buildMoneyAudit(deps: MoneyAuditDependencies): Domain {
  const loop = new MoneyAuditLoop(deps);
  return { tasks: (failed) => [repeat(stepMs, () => loop.step(), failed('audit'))] };
}

/** Audits one page of accounts at a time, endlessly, so that the load stays low. The number of findings is a metric. */
class MoneyAuditLoop {
  readonly #deps: MoneyAuditDependencies;
  #after: string | undefined;
  #findings = 0;
  #passStartedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: MoneyAuditDependencies) {
    this.#deps = deps;
  }

  async step(): Promise<void> {
    const { pool, metrics, events, now } = this.#deps;
    if (this.#after === undefined) {
      if (now() - this.#passStartedAt < betweenPassesMs) return;
      this.#passStartedAt = now();
      this.#findings = 0;
    }
    const page = await auditPage(this.#deps, this.#after);
    const findings = [...page.findings, ...(await auditBalances(pool, page.accountIds))];
    if (page.next === undefined) findings.push(...(await auditRejected(pool)));
    for (const { what, id } of findings) events.auditFinding({ what, id });
    this.#findings += findings.length;
    metrics.auditedAccounts.inc(page.accountIds.length);
    this.#after = page.next;
    if (page.next !== undefined) return;
    metrics.auditFindings.set(this.#findings);
    metrics.auditCompletedAt.set(now() / 1000);
  }
}
