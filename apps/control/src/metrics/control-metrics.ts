import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { ControlEvents } from '../events.ts';

/** What control counts. No metric has a label of a user's: no account, key, workspace or model. */
export class ControlMetrics {
  readonly registry = new Registry();
  readonly auditedAccounts = this.#counter('sotto_audit_accounts_total', 'Accounts compared with ledger and state.');
  readonly auditFindings = this.#gauge(
    'sotto_audit_findings',
    'Findings of the last whole pass of the audit: balances, wallets and keys that differ, settlements set aside.',
  );
  readonly auditCompletedAt = this.#gauge(
    'sotto_audit_completed_timestamp_seconds',
    'When the last whole pass of the audit ended.',
  );
  readonly settledAt = this.#gauge(
    'sotto_settler_passed_timestamp_seconds',
    'When the settler last had booked all that every shard had.',
  );
  readonly #requests = this.#counter('sotto_control_requests_total', 'Requests that were answered, by status.', [
    'route',
    'status',
  ]);
  readonly #shed = this.#counter('sotto_control_requests_shed_total', 'Requests refused at the door.');
  readonly #failed = this.#counter('sotto_task_failures_total', 'Background tasks that failed, and were tried again.', [
    'task',
  ]);
  readonly #catalogRefused = this.#counter(
    'sotto_catalog_refused_total',
    'Catalog files that were refused; the one in force stayed.',
  );
  readonly #flagged = this.#counter('sotto_orders_flagged_total', 'Orders that somebody has to look at.');
  readonly #booked = this.#counter('sotto_settlements_total', 'Settlements taken from the stream.');
  readonly #rejected = this.#counter(
    'sotto_settlements_rejected_total',
    'Settlements set aside: unbelieved or unbookable.',
  );
  readonly #shortfall = this.#counter(
    'sotto_shortfall_usd_total',
    'Charges beyond their wallets: the operator’s loss.',
  );
  readonly #waived = this.#counter(
    'sotto_waived_usd_total',
    'Charges of requests that their clients gave up, within the allowance of their accounts: the operator’s cost.',
  );
  readonly #reaped = this.#counter('sotto_holds_reaped_total', 'Holds released because their broker was gone.');
  readonly #opened = this.#counter(
    'sotto_shards_opened_total',
    'Epochs opened: each follows a loss in Redis, or a start.',
  );
  readonly #undeclared = this.#counter(
    'sotto_brokers_undeclared_total',
    'Brokers that did not declare what they hold.',
  );

  /** The same events, counted. */
  counting(events: ControlEvents): ControlEvents {
    return {
      ...events,
      request: (fields) => {
        this.#requests.inc({ route: fields.route, status: fields.status });
        events.request(fields);
      },
      shed: (fields) => {
        this.#shed.inc(fields.requests);
        events.shed(fields);
      },
      taskFailed: (task, error) => {
        this.#failed.inc({ task });
        events.taskFailed(task, error);
      },
      catalogRefused: (file, problems) => {
        this.#catalogRefused.inc();
        events.catalogRefused(file, problems);
      },
      orderFlagged: (fields) => {
        this.#flagged.inc();
        events.orderFlagged(fields);
      },
      booked: (fields) => {
        this.#booked.inc(fields.settlements);
        events.booked(fields);
      },
      settlementRejected: (fields) => {
        this.#rejected.inc();
        events.settlementRejected(fields);
      },
      shortfall: (fields) => {
        this.#shortfall.inc(Number(fields.shortfallNusd) / 1e9);
        events.shortfall(fields);
      },
      waived: (fields) => {
        this.#waived.inc(Number(fields.waivedNusd) / 1e9);
        events.waived(fields);
      },
      reaped: (fields) => {
        this.#reaped.inc(fields.holds);
        events.reaped(fields);
      },
      epochsOpened: (fields) => {
        this.#opened.inc(fields.shards.length);
        events.epochsOpened(fields);
      },
      undeclared: (fields) => {
        this.#undeclared.inc(fields.clients);
        events.undeclared(fields);
      },
    };
  }

  /** Adds what Node tells of the process: memory, CPU, the event loop, open files. */
  withProcess(): this {
    collectDefaultMetrics({ register: this.registry });
    return this;
  }

  #counter(name: string, help: string, labelNames: string[] = []): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  #gauge(name: string, help: string): Gauge {
    return new Gauge({ name, help, registers: [this.registry] });
  }
}
