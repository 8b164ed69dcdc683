import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Settings, StartError } from '@sotto/server';
import type pg from 'pg';
import type { Actor } from '../audit-log/record-act.ts';
import { readDatabaseUrl } from '../config.ts';
import { openDatabase } from '../database/database.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { isUuid } from '../database/is-uuid.ts';

/** The parts of the process that a command may use. */
export interface CliProcess {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readInput: () => Promise<string>;
  readonly out: (line: string) => void;
  readonly error: (line: string) => void;
  /** Whether the reader of `out` has left, so that a long list can end. */
  readonly isClosed?: () => boolean;
}

/** An error that ends a command with one line for its user. */
export class CliError extends StartError {}

/** A command with wrong arguments. */
export class UsageError extends CliError {}

/** The value of an option, as `parseArgs` gives it. */
export type Option = string | boolean | undefined;

/** Returns an id that was given to a command. Throws a `UsageError` if it is none. */
export function readId(of: 'account' | 'order', given: Option): string {
  if (typeof given === 'string' && isUuid(given)) return given.toLowerCase();
  throw new UsageError(
    `the ${of} id is ${given === undefined ? 'missing' : `"${given}"`}; \`sotto-control ${of} list\` prints the ids`,
  );
}

/** Returns settings that were read. Throws a `CliError` that says what is wrong with them. */
export function required<T>(read: Settings<T>): T {
  if (!read.ok) throw new CliError(read.message);
  return read.settings;
}

/** Prints the lines of a list until it ends or its reader leaves. */
export async function printList<Entry>(
  { out, isClosed }: CliProcess,
  entries: AsyncIterable<Entry>,
  lineOf: (entry: Entry) => string,
): Promise<void> {
  for await (const entry of entries) {
    if (isClosed?.() === true) return;
    out(lineOf(entry));
  }
}

/** The actor of every command, in the audit log. */
export const commandLine: Actor = { kind: 'command_line' };

/** Reads a file that the user named. */
export const readText = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch(() => {
    throw new CliError(`cannot read ${file}`);
  });

/** Reads a file that the user named, if it exists. */
export const readIfPresent = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new CliError(`cannot read ${file}`);
  });

/** The date in UTC, such as 2026-01-31. */
export const today = (): string => new Date().toISOString().slice(0, 10);

/** Writes a file whole. A rename is atomic, so a control process that reads the file never finds half of it. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}.tmp`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(draft, text, { flag: 'wx' });
    await rename(draft, path);
  } catch {
    throw new CliError(`cannot write ${path}`);
  }
}

/**
 * Runs a command on the database of the environment. A running control plane projects its changes to the shared state.
 */
export async function withDatabase<T>(context: CliProcess, run: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const { pool, close } = openDatabase(required(readDatabaseUrl(context.environment)).DATABASE_URL);
  try {
    return await run(pool);
  } finally {
    await close();
  }
}

/** Runs a command in one transaction, so that its act is written with what it changes. */
export const withTransaction = <T>(context: CliProcess, run: (client: pg.PoolClient) => Promise<T>): Promise<T> =>
  withDatabase(context, (pool) => inTransaction(pool, run));
