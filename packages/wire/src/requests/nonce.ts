import * as z from 'zod';

/** A challenger's nonce: exactly 64 hex digits in either case; statements use them in lower case (interface 4.2). */
export const nonceSchema = z
  .string({ error: 'must be exactly 64 hex digits, fresh for each verification' })
  .regex(/^[0-9a-fA-F]{64}$/, { error: 'must be exactly 64 hex digits, fresh for each verification' })
  .transform((nonce) => nonce.toLowerCase());
