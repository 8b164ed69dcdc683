import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { skipNotesVariable } from '@sotto/test-servers';

/** Vitest `globalSetup`: prepares the file of notes. */
export function setup(): void {
  process.env[skipNotesVariable] = join(mkdtempSync(join(tmpdir(), 'sotto-skips-')), 'notes');
}

/** Vitest `globalSetup`: prints each note once, after all other output. */
export function teardown(): void {
  const file = process.env[skipNotesVariable];
  if (file === undefined) return;
  const notes = existsSync(file) ? new Set(readFileSync(file, 'utf8').trim().split('\n')) : [];
  for (const note of notes) console.log(note);
  rmSync(dirname(file), { recursive: true, force: true });
}
