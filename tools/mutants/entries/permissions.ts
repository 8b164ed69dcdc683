import { readFileSync } from 'node:fs';
import { type Mutant, mutantsOfRows } from '../mutant.ts';

const file = 'apps/control/src/workspaces/permissions.ts';
const roles = ['viewer', 'member', 'admin', 'owner'];

/** Each action of a workspace: a weaker role may do it, or for `read` a stronger one must. */
export const permissionMutants: readonly Mutant[] = mutantsOfRows(
  {
    folder: 'permissions',
    file,
    tests: ['test/contract/conformance/workspaces.test.ts', 'test/contract/conformance/session-routes.test.ts'],
  },
  {
    text: readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8'),
    pattern: /^ {2}(\w+): '(viewer|member|admin|owner)',$/gm,
    change: ([, action = '', role = '']) => [action, `  ${action}: '${roles[roles.indexOf(role) - 1] ?? 'member'}',`],
  },
);
