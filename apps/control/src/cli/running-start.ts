import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Environment, loadSettings, settingsSchemas } from '@sotto/server';
import * as z from 'zod';
import { databasePlace } from '../database/database-place.ts';

const keptSchema = z.object({
  pid: z.int(),
  config_file: z.string().optional(),
  database: z.string().optional(),
  settings: z.record(z.string(), z.string()),
});

/** The service that `npm start` runs, as a command beside it sees it. */
interface RunningStart {
  /** The `sotto.yaml` that it read. */
  readonly configFile: string | undefined;
  readonly settings: Environment;
}

/** Files of `npm start` in this project. In an image, they are not there. */
const inProject = (name: string): string => fileURLToPath(new URL(`../../../../${name}`, import.meta.url));

/**
 * Finds the service that `npm start` runs on this machine. Undefined if it does not run, or if `databaseUrl` leads to the database of
 * another service.
 */
export function findStart(environment: Environment, databaseUrl: string | undefined): RunningStart | undefined {
  try {
    const file = join(dataDirOf(environment) ?? inProject('.sotto'), 'control.json');
    const kept = keptSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
    // Throws if the process is gone: a kill leaves the file.
    process.kill(kept.pid, 0);
    if (databaseUrl && databasePlace(databaseUrl) !== kept.database) return undefined;
    return { configFile: kept.config_file, settings: kept.settings };
  } catch {
    return undefined;
  }
}

/** The data directory that a variable names, or `sotto.yaml`, as `npm start` finds it. */
function dataDirOf({ SOTTO_DATA_DIR, CONFIG_FILE }: Environment): string | undefined {
  const ownFile = inProject('sotto.yaml');
  const loaded = loadSettings({
    plane: 'start',
    schema: settingsSchemas.start.pick({ SOTTO_DATA_DIR: true }),
    environment: { SOTTO_DATA_DIR, CONFIG_FILE: CONFIG_FILE || (existsSync(ownFile) ? ownFile : undefined) },
  });
  return (loaded.ok && loaded.settings.SOTTO_DATA_DIR) || undefined;
}
