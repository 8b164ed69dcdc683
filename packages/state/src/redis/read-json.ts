import { parseJson } from '@sotto/wire';
import type { z } from 'zod';

/** Parses a stored record. Returns undefined if it is malformed, because a parser's error would quote it. */
export const readJson = <T>(text: unknown, schema: z.ZodType<T>): T | undefined =>
  typeof text === 'string' ? schema.safeParse(parseJson(text)).data : undefined;
