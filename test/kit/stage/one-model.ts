import type { StageSpec } from './spec.ts';

/** A provider, `alpha`, with one model, `m/one`. */
export const oneModel: StageSpec = { providers: { alpha: {} }, models: { 'm/one': { routes: { alpha: [1, 2] } } } };
