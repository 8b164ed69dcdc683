import { appendFileSync } from 'node:fs';

/** The variable with the path of the notes. The main process of a run sets it, and the workers inherit it. */
export const skipNotesVariable = 'SOTTO_SKIP_NOTES';

/**
 * Records why tests were skipped, so that the last lines of the run say so.
 *
 * @param what - The skipped tests, as the rest of "skipped: …".
 * @param how - How to run them, as a sentence.
 */
export function noteSkip(what: string, how: string): void {
  const file = process.env[skipNotesVariable];
  // A short append is atomic, so workers can write at the same time.
  if (file !== undefined) appendFileSync(file, `skipped: ${what}. To have it run: ${how}\n`);
}
