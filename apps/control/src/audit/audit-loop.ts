import type pg from 'pg';
import type { ControlEvents } from '../events.ts';
import type { ControlMetrics } from '../metrics/control-metrics.ts';
import { auditBalances, auditRejected } from './audit-ledger.ts';
import { type AuditStateDependencies, auditPage } from './audit-state.ts';

export interface AuditLoopDependencies extends AuditStateDependencies {
  readonly pool: pg.Pool;
  readonly metrics: ControlMetrics;
  readonly events: Pick<ControlEvents, 'auditFinding'>;
  readonly now: () => number;
}

/** A pass over all accounts begins no sooner after the one before. */
const betweenPassesMs = 600_000;

/** The audit without an end: a page of accounts at a time, so that it never weighs; what it finds is a metric. */
export class AuditLoop {
  readonly #deps: AuditLoopDependencies;
  #after: string | undefined;
  #findings = 0;
  #passStartedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: AuditLoopDependencies) {
    this.#deps = deps;
  }

  /** Audits the next page. */
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
