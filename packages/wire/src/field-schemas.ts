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

/** An e-mail address: RFC 5321 allows at most 254 characters. */
export const emailSchema = z.email().max(254);
