import { type Mutant, mutantsAt } from '../mutant.ts';

const tests = ['test/contract/conformance/workspaces.test.ts'] as const;

/** What holds a key to its workspace's policy, and to what an admin set on it. */
export const policyMutants: readonly Mutant[] = [
  ...mutantsAt({ folder: 'policy', file: 'apps/control/src/database/held-rules.ts', tests }, [
    ['the limit', 'w.policy_key_limit_nusd', 'null::bigint'],
    ['the expiry', "k.created_at + w.policy_key_days * interval '1 day'", 'null::timestamptz'],
    ['compatibility access', 'and w.policy_compatible', ''],
  ]),
  ...mutantsAt({ folder: 'policy', file: 'apps/control/src/workspaces/set-policy.ts', tests }, [
    ['older keys', "where: 'k.workspace_id = $1 and", "where: '$1::uuid is null and"],
  ]),
  ...mutantsAt(
    {
      folder: 'policy',
      file: 'apps/control/src/workspaces/set-policy.ts',
      tests: ['apps/control/src/workspaces/set-policy.integration.test.ts'],
    },
    [['the version of what is left', 'changesFunds: true', 'changesFunds: false']],
  ),
  ...mutantsAt({ folder: 'policy', file: 'apps/control/src/tickets/mint-ticket.ts', tests }, [
    ['models of tickets', 'assertModelsAllowed(key, asked);', ''],
    [
      '/auto of tickets',
      'withinPolicy(key.preferences, { request: asked, catalog, workspaceModels })',
      'key.preferences',
    ],
  ]),
  ...mutantsAt({ folder: 'policy', file: 'apps/confidential/src/admission/admit.ts', tests }, [
    ['models of compatibility mode', 'assertModelsAllowed(key.record, question.bindings);', ''],
    ['/auto of compatibility mode', 'catalog === undefined ? preferences :', 'catalog !== undefined ? preferences :'],
  ]),
  ...mutantsAt({ folder: 'policy', file: 'apps/control/src/connect/grants/access-token.ts', tests }, [
    ['models of apps', 'workspaceModels: row.policy_models ?? undefined', 'workspaceModels: undefined'],
  ]),
  ...mutantsAt({ folder: 'policy', file: 'apps/control/src/keys/keys.ts', tests }, [
    ['locks', 'if (locked !== undefined) throw lockedByAdmin(locked);', 'void lockedByAdmin;'],
  ]),
  ...mutantsAt({ folder: 'policy', file: 'apps/control/src/keys/locked-fields.ts', tests }, [
    ['disabled keys', 'value === true', 'value === undefined'],
  ]),
];
