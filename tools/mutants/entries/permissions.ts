import { readFileSync } from 'node:fs';
import { type Mutant, mutantsAt, mutantsOfRows } from '../mutant.ts';

const file = 'apps/control/src/workspaces/permissions.ts';
const roles = ['viewer', 'member', 'admin', 'owner'];

/** Each action of a workspace: a weaker role may do it, or for `read` a stronger one must. And hours of requests that the reader may not see. */
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
).concat(
  mutantsAt(
    {
      folder: 'permissions',
      file: 'apps/control/src/usage/usage.ts',
      tests: ['test/contract/conformance/workspaces.test.ts'],
    },
    [
      ['hours_of_others', 'asked.member_id ?? onlyOf', 'asked.member_id'],
      ['hours_of_viewers', 'isByHour ? await requireRowReader(readers, scope, asked) : {}', '{ onlyOf: undefined }'],
    ],
  ),
);
