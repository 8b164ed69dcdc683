import { type ErrorTrace, limitChanges, limitRepeats, traceOf } from '@sotto/server';
import { adviceOnTrouble, StateUnavailableError } from '@sotto/state';
import type { FileProblem } from '@sotto/yaml';
import type { Logger } from 'pino';
import { causeOf } from './database/sql-states.ts';
import type { BookedUsage } from './ledger/book-settlements.ts';

/** Time in ms from its start in which a process connects to Redis. Tasks that come before that are not worth a line. */
const connectingMs = 5_000;

/** `now` is a monotonic clock in ms. */
/** All log events of control. Their fields are allow-listed: never keys, tickets, bodies or query strings. */
export function controlEvents(logger: Logger, now: () => number = () => performance.now()) {
  const limited = limitRepeats(logger, now);
  const startedAt = now();
  return {
    request: (fields: {
      readonly requestId: string;
      readonly method: string;
      readonly route: string;
      readonly status: number;
      readonly durationMs: number;
    }) => {
      // A line for each ticket would cost as much as the ticket, and say when somebody asks.
      if (fields.route !== '/v1/inference/tickets' || fields.status !== 200) logger.info(fields, 'request');
    },
    /** The number of requests that were rejected for overload in the last second. */
    shed: (fields: { readonly requests: number }) => logger.warn(fields, 'requests shed'),
    tracesLost: (fields: { readonly spans: number }) => logger.warn(fields, 'traces lost'),
    unexpected: (error: ErrorTrace, requestId: string) => logger.error({ ...error, requestId }, 'unexpected error'),
    catalogRefused: (file: string, problems: readonly FileProblem[]) =>
      logger.error({ file, problems: problems.slice(0, 20) }, 'catalog refused; the one in force stays'),
    catalogInForce: (fields: { readonly file: string; readonly digest: string; readonly models: number }) =>
      logger.info(fields, 'catalog in force'),
    projected: (fields: { readonly accounts: number; readonly keys: number; readonly shards: number }) =>
      logger.info(fields, 'state projected'),
    unreadablePreferences: (fields: { readonly workspaceId: string }) =>
      logger.error(fields, 'preferences of a workspace cannot be read; its keys are off'),
    epochsOpened: (fields: { readonly shards: readonly number[] }) => logger.info(fields, 'shards opened'),
    undeclared: (fields: { readonly shard: number; readonly clients: number }) =>
      logger.warn(fields, 'brokers did not declare what they hold; their holds count as reaped'),
    declarationRefused: (fields: { readonly shard: number; readonly reason: string }) =>
      logger.error(fields, 'declaration refused'),
    booked: (fields: { readonly shard: number; readonly settlements: number }) =>
      logger.debug(fields, 'settlements booked'),
    settlementRejected: (fields: { readonly shard: number; readonly streamId: string; readonly reason: string }) =>
      logger.error(fields, 'settlement rejected'),
    /** The sums of settlements that were booked now, of all accounts together. They are counted, not logged. */
    used: (_sums: BookedUsage) => {},
    shortfall: ({ shortfallNusd }: { readonly shortfallNusd: bigint }) =>
      logger.error({ shortfallNusd: shortfallNusd.toString() }, 'charge above its wallet'),
    /** Charges of abandoned requests that the operator bears. */
    waived: ({ waivedNusd }: { readonly waivedNusd: bigint }) =>
      logger.debug({ waivedNusd: waivedNusd.toString() }, 'charges of given-up requests waived'),
    reaped: (fields: { readonly shard: number; readonly holds: number }) =>
      logger.warn(fields, 'abandoned holds released'),
    /** Partitions of `usage`. */
    usageMonths: (fields: { readonly created: readonly string[]; readonly dropped: readonly string[] }) =>
      logger.info(fields, 'months of usage created and dropped'),
    /** An inconsistency of money. The id is an account’s, a key’s or a transaction’s. */
    auditFinding: (fields: { readonly what: string; readonly id: string }) => logger.error(fields, 'audit finding'),
    orderMoved: (fields: {
      readonly orderId: string;
      readonly rail: string;
      readonly event: string;
      readonly source: string;
      readonly status: string;
    }) => logger.info(fields, 'order moved'),
    orderFlagged: (fields: { readonly orderId: string; readonly rail: string; readonly flag: string }) =>
      logger.error(fields, 'order needs a look'),
    webhookRefused: (fields: { readonly rail: string; readonly failed: string }) =>
      logger.warn(fields, 'webhook refused'),
    webhookUnknownOrder: (fields: { readonly rail: string; readonly type: string }) =>
      logger.error(fields, 'webhook of an order that nobody knows'),
    railFailed: (fields: { readonly rail: string; readonly action: string; readonly code: string }) =>
      logger.warn(fields, 'payment service failed'),
    autoTopUp: (fields: { readonly outcome: string }) => logger.info(fields, 'automatic top-up'),
    lowBalance: (fields: { readonly accounts: number }) =>
      logger.info(fields, 'balances have fallen below their notice'),
    /** An alert of a budget was not delivered. Names neither the address nor the URL. */
    alertFailed: ({
      isGivenUp,
      ...fields
    }: {
      readonly alertId: string;
      readonly workspaceId: string;
      readonly by: 'mail' | 'webhook';
      readonly failure: string;
      readonly isGivenUp: boolean;
    }) =>
      logger.warn(
        {
          ...fields,
          ...(fields.failure === 'address_not_public' && { fix: 'allow its network with webhooks.networks' }),
        },
        isGivenUp ? 'budget alert given up' : 'budget alert not delivered; it is sent again',
      ),
    testRailOn: () => logger.warn('BILLING_TEST_RAIL is on: orders can be paid without money'),
    /** The OAuth library failed. Its message may quote a request. */
    connectFailed: (error: unknown) => logger.error(traceOf(error), 'connected apps failed'),
    taskFailed(task: string, error: unknown) {
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
    /** Postgres does not accept connections yet, or cannot be migrated. */
    databaseNotReady: (error: unknown) => {
      const cause = causeOf(error) ?? traceOf(error).name;
      limited('warn', cause, { cause }, 'database not ready');
    },
    /** The connection to Redis: the cause when it fails, such as `WRONGPASS`; undefined when it works again. */
    redisConnection: limitChanges((cause: string | undefined) =>
      cause === undefined
        ? logger.info('connected to Redis')
        : logger.error({ cause, fix: adviceOnTrouble(cause) }, 'no connection to Redis'),
    ),
    /** Redis can lose what it acknowledged, so control is not ready. */
    redisVolatile: ({ problem }: { readonly problem: string }) => limited('error', problem, { problem }, 'not ready'),
    /** Redis lacks a right of control's user. */
    redisDenied: () =>
      logger.error({ cause: 'NOPERM', fix: adviceOnTrouble('NOPERM') }, "Redis denies control's user a command"),
  };
}

export type ControlEvents = ReturnType<typeof controlEvents>;
