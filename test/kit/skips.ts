import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Names the file of notes; set in the run's main process and inherited by the workers. */
const NOTES_VARIABLE = 'SOTTO_SKIP_NOTES';

/**
 * Records that tests were skipped for want of something, so that the run's last lines say so.
 *
 * @param what - What was skipped, as the rest of "skipped: …".
 * @param how - How to have it run, as a sentence.
 */
export function noteSkip(what: string, how: string): void {
  const file = process.env[NOTES_VARIABLE];
  // One short appended line is written whole, however many workers write.
  if (file !== undefined) appendFileSync(file, `skipped: ${what}. To have it run: ${how}\n`);
}

/** Vitest `globalSetup`: makes the notes ready. */
export function setup(): void {
  process.env[NOTES_VARIABLE] = join(mkdtempSync(join(tmpdir(), 'sotto-skips-')), 'notes');
}

/** Vitest `globalSetup`: prints the notes, each once, after everything else. */
export function teardown(): void {
  const file = process.env[NOTES_VARIABLE];
  if (file === undefined) return;
  const notes = existsSync(file) ? new Set(readFileSync(file, 'utf8').trim().split('\n')) : [];
  for (const note of notes) console.log(note);
  rmSync(dirname(file), { recursive: true, force: true });
}
