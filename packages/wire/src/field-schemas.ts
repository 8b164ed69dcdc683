import * as z from 'zod';
import { privacyClasses } from './privacy.ts';
import { workspaceRoles } from './workspace-role.ts';

// The lists themselves are elsewhere: pages that need only a list do without the schema library.
export const privacyClassSchema = z.enum(privacyClasses);
export const workspaceRoleSchema = z.enum(workspaceRoles);

/** A verifier's nonce: exactly 64 hex digits. Evidence repeats it in lower case. */
export const nonceSchema = z
  .string({ error: 'must be exactly 64 hex digits, fresh for each verification' })
  .regex(/^[0-9a-fA-F]{64}$/, { error: 'must be exactly 64 hex digits, fresh for each verification' })
  .transform((nonce) => nonce.toLowerCase());

/** Text without NUL, which PostgreSQL refuses in columns and parameters. */
export const storableText = z
  .string()
  .refine((text) => !text.includes('\0'), { error: 'must not contain a NUL character' });
