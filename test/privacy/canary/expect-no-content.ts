import { expect } from 'vitest';
import { disguises, found, searchable } from './disguises.ts';
import { stem } from './markers.ts';
import type { CanaryStage } from './stage.ts';

const anyMarker = { 'a marker': disguises(stem) };

/** Expects no marker of this run, and no part of one, in any sink except answers to the clients themselves. */
export async function expectNoContent(stage: Pick<CanaryStage, 'sinks'>): Promise<void> {
  const { errors: _, ...others } = await stage.sinks();
  for (const [name, sink] of Object.entries(others)) expect(found(sink, anyMarker), name).toEqual([]);
}

/** Expects the same of every sink, compressed data included. */
export async function expectNoContentAnywhere(stage: CanaryStage): Promise<void> {
  for (const [name, sink] of Object.entries(await stage.allSinks())) {
    // The search had data to search.
    expect(sink.length, name).toBeGreaterThan(500);
    expect(found(searchable(sink), anyMarker), name).toEqual([]);
  }
}
