import type { ErrorTrace } from '@sotto/server';
import type { Logger } from 'pino';

/** Everything the keeper logs. It never logs a secret. */
export interface KeeperEvents {
  released(fields: { readonly address: string; readonly teeType: string; readonly secrets: number }): void;
  /** The checks that did not pass, and why. Of the evidence, only digests and names are logged. */
  refused(fields: {
    readonly address: string;
    readonly verdict: string;
    readonly checks: readonly { readonly name: string; readonly outcome: string; readonly reason: string }[];
  }): void;
  /** A file that could be used at the start can no longer be used. */
  unreadable(problem: string): void;
  shed(requests: number): void;
  unexpected(error: ErrorTrace, requestId: string): void;
  lifecycle(state: 'listening' | 'stopped', fields?: { readonly address: string }): void;
}

export function keeperEvents(logger: Logger): KeeperEvents {
  return {
    released: (fields) => logger.info(fields, 'secrets released'),
    refused: (fields) => logger.error(fields, 'secrets refused'),
    unreadable: (problem) => logger.error({ problem }, 'file cannot be used'),
    shed: (requests) => logger.warn({ requests }, 'requests shed'),
    unexpected: (error, requestId) => logger.error({ ...error, requestId }, 'unexpected error'),
    lifecycle: (state, fields = { address: '' }) => logger.info(state === 'listening' ? fields : {}, state),
  };
}
