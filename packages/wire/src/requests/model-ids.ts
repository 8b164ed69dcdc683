import * as z from 'zod';

/** A model id as sent: at most 256 characters. The catalog is checked later. */
export const modelIdField = z.string().min(1).max(256);

/** The description of the field `model` of a request. */
export const modelNote =
  'A model id, or `/auto`. The suffix `:nitro` sorts providers by throughput, `:floor` by price.';

/** `models`: the list for cross-model fallback. Counts at most 3, with `model` as the first. */
export const modelsField = z.array(modelIdField).max(3);
