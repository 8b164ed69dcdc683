import * as z from 'zod';

/** A model id as sent: at most 256 characters. The catalog is checked later. */
export const modelIdField = z.string().min(1).max(256);

/** `models`: the list for cross-model fallback. Counts at most 3, with `model` as the first. */
export const modelsField = z.array(modelIdField).max(3);
