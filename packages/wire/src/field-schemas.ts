import * as z from 'zod';
import { privacyClasses } from './privacy.ts';

// The lists themselves are elsewhere: pages that need only a list do without the schema library.
export const privacyClassSchema = z.enum(privacyClasses);

/** A verifier's nonce: exactly 64 hex digits. Evidence repeats it in lower case. */
export const nonceSchema = z
  .string({ error: 'must be exactly 64 hex digits, fresh for each verification' })
  .regex(/^[0-9a-fA-F]{64}$/, { error: 'must be exactly 64 hex digits, fresh for each verification' })
  .transform((nonce) => nonce.toLowerCase());
