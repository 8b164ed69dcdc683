import { httpBuckets, withObservers } from '@sotto/server';
import { addProcessMetrics } from '@sotto/server/process-metrics';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ControlEvents } from '../events.ts';

/** Metrics of control. Labels never identify a user: no account, key, workspace or model. */
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
  readonly redisUsed = this.#gauge('sotto_redis_memory_used_bytes', 'Memory that the fullest Redis server uses.');
  readonly redisLimit = this.#gauge(
    'sotto_redis_memory_limit_bytes',
    'Memory at which this server refuses writes: `maxmemory`, or the machine’s memory.',
  );
  readonly #requests = this.#counter('sotto_control_requests_total', 'Requests that were answered, by status.', [
    'route',
    'status',
  ]);
  readonly #shed = this.#counter(
    'sotto_control_requests_shed_total',
    'Requests shed with 503: more came than can be served.',
  );
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

  readonly #inputTokens = this.#counter(
    'sotto_input_tokens_total',
    'Tokens of prompts that were booked, of all accounts.',
  );
  readonly #outputTokens = this.#counter(
    'sotto_output_tokens_total',
    'Tokens of answers that were booked, of all accounts.',
  );
  readonly #charged = this.#counter('sotto_charged_usd_total', 'Charges that were booked, of all accounts.');
  readonly #served = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'From the arrival of a request until the end of its answer.',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code', 'url_scheme', 'error_type'],
    buckets: httpBuckets,
    registers: [this.registry],
  });

  /** A request was answered. `route` is the pattern of the route, never the URL. */
  readonly answered = (answer: {
    readonly method: string;
    readonly route: string;
    readonly status: number;
    readonly scheme: string;
    readonly error: string | undefined;
    readonly ms: number;
  }): void => {
    const labels = {
      http_request_method: answer.method,
      http_route: answer.route,
      http_response_status_code: answer.status,
      url_scheme: answer.scheme,
      error_type: answer.error ?? '',
    };
    this.#served.observe(labels, answer.ms / 1000);
  };

  /** Wraps events so that they are also counted. */
  counting(events: ControlEvents): ControlEvents {
    return withObservers(events, {
      request: ({ route, status }) => this.#requests.inc({ route, status }),
      shed: ({ requests }) => this.#shed.inc(requests),
      taskFailed: (task) => this.#failed.inc({ task }),
      catalogRefused: () => this.#catalogRefused.inc(),
      orderFlagged: () => this.#flagged.inc(),
      booked: ({ settlements }) => this.#booked.inc(settlements),
      settlementRejected: () => this.#rejected.inc(),
      shortfall: ({ shortfallNusd }) => this.#shortfall.inc(Number(shortfallNusd) / 1e9),
      waived: ({ waivedNusd }) => this.#waived.inc(Number(waivedNusd) / 1e9),
      used: ({ inputTokens, outputTokens, chargedNusd }) => {
        this.#inputTokens.inc(inputTokens);
        this.#outputTokens.inc(outputTokens);
        this.#charged.inc(Number(chargedNusd) / 1e9);
      },
      reaped: ({ holds }) => this.#reaped.inc(holds),
      epochsOpened: ({ shards }) => this.#opened.inc(shards.length),
      undeclared: ({ clients }) => this.#undeclared.inc(clients),
    });
  }

  /** Adds Node’s metrics of the process: memory, CPU, event loop, open files. */
  withProcess(): this {
    addProcessMetrics(this.registry);
    return this;
  }

  #counter(name: string, help: string, labelNames: string[] = []): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  #gauge(name: string, help: string): Gauge {
    return new Gauge({ name, help, registers: [this.registry] });
  }
}
