import type { ErrorTrace } from '@sotto/server';
import type { Logger } from 'pino';

/** Everything the keeper logs. It never logs a secret. */
export function keeperEvents(logger: Logger) {
  return {
    released: (fields: { readonly address: string; readonly teeType: string; readonly secrets: number }) =>
      logger.info(fields, 'secrets released'),
    /** The checks that did not pass, and why. Of the evidence, only digests and names are logged. */
    refused: (fields: {
      readonly address: string;
      readonly verdict: string;
      readonly checks: readonly { readonly name: string; readonly outcome: string; readonly reason: string }[];
    }) => logger.error(fields, 'secrets refused'),
    /** A file that could be used at the start can no longer be used. */
    unreadable: (problem: string) => logger.error({ problem }, 'file cannot be used'),
    shed: (requests: number) => logger.warn({ requests }, 'requests shed'),
    unexpected: (error: ErrorTrace, requestId: string) => logger.error({ ...error, requestId }, 'unexpected error'),
    lifecycle: (state: 'listening' | 'stopped', fields: { readonly address: string } = { address: '' }) =>
      logger.info(state === 'listening' ? fields : {}, state),
  };
}

export type KeeperEvents = ReturnType<typeof keeperEvents>;
