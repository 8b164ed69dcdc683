import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** The variable with the path of the notes; set in the main process and inherited by the workers. */
const NOTES_VARIABLE = 'SOTTO_SKIP_NOTES';

/**
 * Records why tests were skipped, so that the last lines of the run say so.
 *
 * @param what - The skipped tests, as the rest of "skipped: …".
 * @param how - How to run them, as a sentence.
 */
export function noteSkip(what: string, how: string): void {
  const file = process.env[NOTES_VARIABLE];
  // A short append is atomic, so workers can write at the same time.
  if (file !== undefined) appendFileSync(file, `skipped: ${what}. To have it run: ${how}\n`);
}

/** Vitest `globalSetup`: prepares the file of notes. */
export function setup(): void {
  process.env[NOTES_VARIABLE] = join(mkdtempSync(join(tmpdir(), 'sotto-skips-')), 'notes');
}

/** Vitest `globalSetup`: prints each note once, after all other output. */
export function teardown(): void {
  const file = process.env[NOTES_VARIABLE];
  if (file === undefined) return;
  const notes = existsSync(file) ? new Set(readFileSync(file, 'utf8').trim().split('\n')) : [];
  for (const note of notes) console.log(note);
  rmSync(dirname(file), { recursive: true, force: true });
}
