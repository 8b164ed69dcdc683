import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const keptSchema = z.object({ pid: z.int(), settings: z.record(z.string(), z.string()) });

/** The folder of `npm start` in this project, unless `SOTTO_DATA_DIR` names another. In an image, nothing is there. */
const usualDir = fileURLToPath(new URL('../../../../.sotto', import.meta.url));

/** Returns the settings with which `npm start` runs control on this machine. Undefined if it does not run. */
export function settingsOfStart(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> | undefined {
  try {
    const file = join(environment.SOTTO_DATA_DIR || usualDir, 'control.json');
    const { pid, settings } = keptSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
    // Throws if the process is gone: a kill leaves the file.
    process.kill(pid, 0);
    return settings;
  } catch {
    return undefined;
  }
}
