import { readDatabaseUrl } from '../config.ts';
import { migrateDatabase } from '../database/database.ts';
import { CliError, type CliProcess } from './cli-process.ts';

export async function migrate(context: CliProcess): Promise<number> {
  const read = readDatabaseUrl(context.environment);
  if (!read.ok) throw new CliError(read.message);
  await migrateDatabase(read.settings.DATABASE_URL);
  context.out('the schema is up to date');
  return 0;
}
