import type pg from 'pg';
import { readDatabaseUrl } from '../config.ts';
import { openDatabase } from '../database/database.ts';
import { CliError, type CliProcess } from './cli-process.ts';

/** Runs a command on the database of the environment. What it changes reaches the shared state by control's own hand. */
export async function withDatabase<T>(context: CliProcess, run: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const read = readDatabaseUrl(context.environment);
  if (!read.ok) throw new CliError(read.message);
  const { pool, close } = openDatabase(read.settings.DATABASE_URL);
  try {
    return await run(pool);
  } finally {
    await close();
  }
}

export const uuidPattern = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
