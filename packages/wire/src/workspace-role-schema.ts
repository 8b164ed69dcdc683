import * as z from 'zod';
import { workspaceRoles } from './workspace-role.ts';

/** Apart from the list, so that pages which want that alone do without the library. */
export const workspaceRoleSchema = z.enum(workspaceRoles);
