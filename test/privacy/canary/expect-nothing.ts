import { expect } from 'vitest';
import { disguises, found, searchable } from './disguises.ts';
import { stem } from './markers.ts';
import type { CanaryStage } from './stage.ts';

/** The forms of texts, each by its name. */
export const formsOf = (texts: Readonly<Record<string, string>>): Record<string, string[]> =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, disguises(text)]));

const anyMarker = { 'a marker': disguises(stem) };

/** Expects no marker of this run, nor a part of one, in any sink but the answers to clients themselves. */
export async function expectNoContent(stage: CanaryStage): Promise<void> {
  const { errors: _, ...others } = await stage.sinks();
  for (const [name, sink] of Object.entries(others)) expect(found(sink, anyMarker), name).toEqual([]);
}

/** The same of every sink there is, also in what lies there compressed. */
export async function expectNoContentAnywhere(stage: CanaryStage): Promise<void> {
  for (const [name, sink] of Object.entries(await stage.allSinks())) {
    // The search had what to search in.
    expect(sink.length, name).toBeGreaterThan(500);
    expect(found(searchable(sink), anyMarker), name).toEqual([]);
  }
}
