import { parseJson } from '@sotto/wire';
import type * as z from 'zod';
import { StateUnavailableError } from '../unavailable.ts';

/** Checks that a reply is a list. Anything else means that another program writes to this Redis. */
export function listReply(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply)) return reply;
  throw new StateUnavailableError('unexpected reply');
}

/** Parses a stored record. Returns undefined if it is malformed, because a parser's error would quote it. */
export const readJson = <T>(text: unknown, schema: z.ZodType<T>): T | undefined =>
  typeof text === 'string' ? schema.safeParse(parseJson(text)).data : undefined;

export const nothing = (): void => {};
