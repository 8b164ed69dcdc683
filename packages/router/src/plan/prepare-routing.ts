import type { Catalog } from '../catalog/catalog.ts';
import type { Measurements } from '../health/measurement.ts';
import { latencyBound, scoreBound } from './dominated.ts';

const slice = 25;

/**
 * Works out, before any request needs it, what planning remembers of a catalog and of new measurements; what they leave
 * unchanged is kept. In slices of 25 models: whoever runs it can let requests pass between two of them. Without it
 * the first request for a model does the same for that model, and the first for `/auto` for most of them.
 */
export function* prepareRouting(catalog: Catalog, measurements: Measurements): Generator<void> {
  let done = 0;
  for (const model of catalog.models.values()) {
    latencyBound(model, measurements);
    scoreBound(model, measurements);
    done += 1;
    if (done % slice === 0) yield;
  }
}
