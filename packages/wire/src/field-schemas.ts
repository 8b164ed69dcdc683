import * as z from 'zod';
import { privacyClasses } from './privacy.ts';

// The lists themselves are elsewhere: pages that need only a list do without the schema library.
export const privacyClassSchema = z
  .enum(privacyClasses)
  .describe(
    'Weakest to strongest. `anonymous`: the provider gets content without identity and may keep it. `private`: the provider agreed not to keep content or train on it. `tee`: an attested enclave processes content. `e2ee`: only the attested enclave can read content.',
  );

/** A verifier's nonce: exactly 64 hex digits. Evidence repeats it in lower case. */
export const nonceSchema = z
  .string({ error: 'must be exactly 64 hex digits, fresh for each verification' })
  .regex(/^[0-9a-fA-F]{64}$/, { error: 'must be exactly 64 hex digits, fresh for each verification' })
  .transform((nonce) => nonce.toLowerCase());
