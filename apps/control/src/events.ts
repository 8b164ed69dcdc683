import { type ErrorTrace, limitChanges, limitRepeats, traceOf } from '@sotto/server';
import { adviceOnTrouble, StateUnavailableError } from '@sotto/state';
import type { FileProblem } from '@sotto/yaml';
import type { Logger } from 'pino';
import { causeOf } from './database/sql-states.ts';
import type { BookedUsage } from './ledger/book-settlements.ts';

/** All log events of control. Their fields are allow-listed: never keys, tickets, bodies or query strings. */
export interface ControlEvents {
  request(fields: {
    readonly requestId: string;
    readonly method: string;
    readonly route: string;
    readonly status: number;
    readonly durationMs: number;
  }): void;
  /** The number of requests that were rejected for overload in the last second. */
  shed(fields: { readonly requests: number }): void;
  tracesLost(fields: { readonly spans: number }): void;
  unexpected(error: ErrorTrace, requestId: string): void;
  catalogRefused(file: string, problems: readonly FileProblem[]): void;
  catalogInForce(fields: { readonly file: string; readonly digest: string; readonly models: number }): void;
  projected(fields: { readonly accounts: number; readonly keys: number; readonly shards: number }): void;
  unreadablePreferences(fields: { readonly workspaceId: string }): void;
  epochsOpened(fields: { readonly shards: readonly number[] }): void;
  undeclared(fields: { readonly shard: number; readonly clients: number }): void;
  declarationRefused(fields: { readonly shard: number; readonly reason: string }): void;
  /** The sums of settlements that were booked now, of all accounts together. They are counted, not logged. */
  used(sums: BookedUsage): void;
  booked(fields: { readonly shard: number; readonly settlements: number }): void;
  settlementRejected(fields: { readonly shard: number; readonly streamId: string; readonly reason: string }): void;
  shortfall(fields: { readonly shortfallNusd: bigint }): void;
  /** Charges of abandoned requests that the operator bears. */
  waived(fields: { readonly waivedNusd: bigint }): void;
  reaped(fields: { readonly shard: number; readonly holds: number }): void;
  /** Partitions of `usage`. */
  usageMonths(fields: { readonly created: readonly string[]; readonly dropped: readonly string[] }): void;
  /** An inconsistency of money. The id is an account’s, a key’s or a transaction’s. */
  auditFinding(fields: { readonly what: string; readonly id: string }): void;
  orderMoved(fields: {
    readonly orderId: string;
    readonly rail: string;
    readonly event: string;
    readonly source: string;
    readonly status: string;
  }): void;
  orderFlagged(fields: { readonly orderId: string; readonly rail: string; readonly flag: string }): void;
  webhookRefused(fields: { readonly rail: string; readonly failed: string }): void;
  webhookUnknownOrder(fields: { readonly rail: string; readonly type: string }): void;
  railFailed(fields: { readonly rail: string; readonly action: string; readonly code: string }): void;
  autoTopUp(fields: { readonly outcome: string }): void;
  lowBalance(fields: { readonly accounts: number }): void;
  /** An alert of a budget was not delivered. Names neither the address nor the URL. */
  alertFailed(fields: {
    readonly alertId: string;
    readonly workspaceId: string;
    readonly by: 'mail' | 'webhook';
    readonly failure: string;
    readonly isGivenUp: boolean;
  }): void;
  testRailOn(): void;
  /** Sign-up is open only because the deployment is older than `SIGN_UP`. */
  signUpInherited(): void;
  /** The OAuth library failed. Its message may quote a request. */
  connectFailed(error: unknown): void;
  taskFailed(task: string, error: unknown): void;
  /** Postgres does not accept connections yet, or cannot be migrated. */
  databaseNotReady(error: unknown): void;
  /** The connection to Redis: the cause when it fails, such as `WRONGPASS`; undefined when it works again. */
  redisConnection(cause: string | undefined): void;
  /** Redis can lose what it acknowledged, so control is not ready. */
  redisVolatile(fields: { readonly problem: string }): void;
  /** Redis lacks a right of control's user. */
  redisDenied(): void;
}

/** Time in ms from its start in which a process connects to Redis. Tasks that come before that are not worth a line. */
const connectingMs = 5_000;

/** `now` is a monotonic clock in ms. */
export function controlEvents(logger: Logger, now: () => number = () => performance.now()): ControlEvents {
  const limited = limitRepeats(logger, now);
  const startedAt = now();
  return {
    request: (fields) => {
      // A line for each ticket would cost as much as the ticket, and say when somebody asks.
      if (fields.route !== '/v1/inference/tickets' || fields.status !== 200) logger.info(fields, 'request');
    },
    shed: (fields) => logger.warn(fields, 'requests shed'),
    tracesLost: (fields) => logger.warn(fields, 'traces lost'),
    unexpected: (error, requestId) => logger.error({ ...error, requestId }, 'unexpected error'),
    catalogRefused: (file, problems) =>
      logger.error({ file, problems: problems.slice(0, 20) }, 'catalog refused; the one in force stays'),
    catalogInForce: (fields) => logger.info(fields, 'catalog in force'),
    projected: (fields) => logger.info(fields, 'state projected'),
    unreadablePreferences: (fields) =>
      logger.error(fields, 'preferences of a workspace cannot be read; its keys are off'),
    epochsOpened: (fields) => logger.info(fields, 'shards opened'),
    undeclared: (fields) => logger.warn(fields, 'brokers did not declare what they hold; their holds count as reaped'),
    declarationRefused: (fields) => logger.error(fields, 'declaration refused'),
    booked: (fields) => logger.debug(fields, 'settlements booked'),
    settlementRejected: (fields) => logger.error(fields, 'settlement rejected'),
    used: () => {},
    shortfall: ({ shortfallNusd }) =>
      logger.error({ shortfallNusd: shortfallNusd.toString() }, 'charge above its wallet'),
    waived: ({ waivedNusd }) =>
      logger.debug({ waivedNusd: waivedNusd.toString() }, 'charges of given-up requests waived'),
    reaped: (fields) => logger.warn(fields, 'abandoned holds released'),
    usageMonths: (fields) => logger.info(fields, 'months of usage created and dropped'),
    auditFinding: (fields) => logger.error(fields, 'audit finding'),
    orderMoved: (fields) => logger.info(fields, 'order moved'),
    orderFlagged: (fields) => logger.error(fields, 'order needs a look'),
    webhookRefused: (fields) => logger.warn(fields, 'webhook refused'),
    webhookUnknownOrder: (fields) => logger.error(fields, 'webhook of an order that nobody knows'),
    railFailed: (fields) => logger.warn(fields, 'payment service failed'),
    autoTopUp: (fields) => logger.info(fields, 'automatic top-up'),
    lowBalance: (fields) => logger.info(fields, 'balances have fallen below their notice'),
    alertFailed: ({ isGivenUp, ...fields }) =>
      logger.warn(
        {
          ...fields,
          ...(fields.failure === 'address_not_public' && { fix: 'allow its network with webhooks.networks' }),
        },
        isGivenUp ? 'budget alert given up' : 'budget alert not delivered; it is sent again',
      ),
    testRailOn: () => logger.warn('BILLING_TEST_RAIL is on: orders can be paid without money'),
    signUpInherited: () =>
      logger.warn('SIGN_UP is not set: everyone can sign up, as before. Set it to open, invited or closed'),
    connectFailed: (error) => logger.error(traceOf(error), 'connected apps failed'),
    taskFailed(task, error) {
      // The task runs again soon. A shard that is being rebuilt, as at each start of `npm start`, is no failure.
      if (error instanceof StateUnavailableError) {
        const { reason } = error;
        if (reason === 'no answer' && now() - startedAt < connectingMs) return;
        return limited('info', `${task} ${reason}`, { task, reason }, 'task waits for the shared state');
      }
      const cause = causeOf(error);
      const trace = traceOf(error);
      limited(
        'warn',
        `${task} ${cause ?? trace.name} ${trace.at}`,
        { task, ...trace, ...(cause && { cause }) },
        'task failed',
      );
    },
    databaseNotReady: (error) => {
      const cause = causeOf(error) ?? traceOf(error).name;
      limited('warn', cause, { cause }, 'database not ready');
    },
    redisConnection: limitChanges((cause: string | undefined) =>
      cause === undefined
        ? logger.info('connected to Redis')
        : logger.error({ cause, fix: adviceOnTrouble(cause) }, 'no connection to Redis'),
    ),
    redisVolatile: ({ problem }) => limited('error', problem, { problem }, 'not ready'),
    redisDenied: () =>
      logger.error({ cause: 'NOPERM', fix: adviceOnTrouble('NOPERM') }, "Redis denies control's user a command"),
  };
}
