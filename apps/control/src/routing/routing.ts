import { isDeepStrictEqual } from 'node:util';
import { type EligibleModelsAnswer, routingContracts } from '@sotto/contract/control/routing';
import { permitsAllOf, readPreferences, withinPolicy } from '@sotto/router';
import { AnswerCache } from '@sotto/server';
import { allowsModel, type Preferences, preferencesSchema, ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { byAccount, recordAct } from '../audit-log/record-act.ts';
import type { CatalogKeeper } from '../catalog/catalog-keeper.ts';
import { orError, Refused } from '../database/refused.ts';
import type { Domain } from '../domain.ts';
import { TimeShare } from '../limits/time-share.ts';
import { projectPreferences } from '../projection/project-keys.ts';
import type { Projector } from '../projection/projector.ts';
import type { Serve } from '../serve/serve.ts';
import { accessErrors, requireWorkspace } from '../workspaces/require-workspace.ts';
import { inWorkspace, type NoAccess } from '../workspaces/workspace-access.ts';
import { eligibleModels, previewRouting } from './preview.ts';

export interface RoutingDependencies {
  readonly pool: pg.Pool;
  readonly keeper: CatalogKeeper;
  readonly projector: Projector;
}

export const buildRouting = (deps: RoutingDependencies): Domain => ({
  register: ({ serve }) => serveRouting(serve, deps),
});

/** Lists of the models that preferences allow. Each may be a third of a megabyte. */
const keptEligible = { keptMs: 2_000, most: 32 };
/** Anybody may ask about a draft, and each draft is another question. */
const shareOfDrafts = { part: 0.2, burstMs: 500 };

/** Serves preferences, the models that they allow, and previews of routing. */
function serveRouting(serve: Serve, { pool, keeper, projector }: RoutingDependencies): void {
  const now = () => performance.now();
  const eligible = new AnswerCache<EligibleModelsAnswer>({ ...keptEligible, now });
  const drafts = new TimeShare({ ...shareOfDrafts, now });
  const eligibleFor = (preferences: Preferences, compute = (work: () => EligibleModelsAnswer) => work()) =>
    eligible.get(keeper.requireCatalog(), JSON.stringify(preferences), () =>
      compute(() => eligibleModels(keeper.planning(preferences))),
    );
  serve(routingContracts)({
    'GET /v1/routing/preferences': async ({ caller, query }) =>
      (await readWorkspace(pool, caller.accountId, query.workspace_id)).saved,

    'PUT /v1/routing/preferences': async ({ caller: { accountId }, query: { workspace_id: workspaceId }, body }) => {
      const changed = orError(await putWorkspacePreferences(pool, { accountId, workspaceId, sent: body }), {
        ...accessErrors,
        invalid: ({ refusal }) => new ServiceError(refusal.type, refusal),
      });
      // Every broker has the new preferences before this answers. If the state is unavailable, they get them once it is
      // back.
      await projectPreferences(projector, changed.workspaceId);
      return changed.preferences;
    },

    'GET /v1/routing/effective': async ({ caller }) => ({
      preferences: caller.preferences,
      data: eligibleFor(caller.preferences).data.filter(({ id }) => allowsModel(caller, id)),
    }),

    'POST /v1/routing/preview': async ({ caller, body }) => {
      const { saved, policy } = await readWorkspace(pool, caller.accountId, body.workspace_id ?? undefined);
      const preferences = body.preferences == null ? saved : preferencesOf(body.preferences, saved);
      const workspaceModels = policy.allowedModels ?? undefined;
      const asked = { request: body, catalog: keeper.requireCatalog(), workspaceModels };
      return previewRouting(body, keeper.planning(withinPolicy(preferences, asked)), workspaceModels);
    },

    'POST /v1/routing/eligible-models': async ({ body }) =>
      eligibleFor(preferencesOf(body.preferences), (work) => drafts.run(work)),
  });
}

/** Reads preferences as `readPreferences` does. Throws its refusal. */
function preferencesOf(sent: unknown, kept?: Preferences): Preferences {
  const read = readPreferences(sent, kept);
  if (!read.ok) throw new ServiceError(read.refusal.type, read.refusal);
  return read.value;
}

/**
 * Returns the preferences of a workspace and its policy, for any of its members. Without an id, of the account’s default workspace.
 */
async function readWorkspace(pool: pg.Pool, accountId: string, workspaceId: string | undefined) {
  const { preferences, policy } = await requireWorkspace(pool, { accountId, workspaceId, action: 'read' });
  return { saved: preferencesSchema.parse(preferences), policy };
}

/**
 * Replaces a workspace’s preferences, of which the generation of each of its keys has the version. Brokers then reject plans
 * made with the old preferences. Tickets minted under them are void, unless the new ones permit all that they permit: a ticket
 * carries the preferences of its time.
 */
export async function putWorkspacePreferences(
  pool: pg.Pool,
  { accountId, workspaceId, sent }: { accountId: string; workspaceId: string | undefined; sent: unknown },
): Promise<
  | { readonly preferences: Preferences; readonly workspaceId: string }
  | Refused<
      | NoAccess
      | {
          readonly why: 'invalid';
          readonly refusal: Extract<ReturnType<typeof readPreferences>, { ok: false }>['refusal'];
        }
    >
> {
  return inWorkspace(pool, { accountId, workspaceId, action: 'writePreferences' }, async (client, workspace) => {
    const before = preferencesSchema.parse(workspace.preferences);
    const read = readPreferences(sent, before);
    if (!read.ok) return new Refused({ why: 'invalid' as const, refusal: read.refusal });
    const preferences = read.value;
    if (isDeepStrictEqual(preferences, before)) return { preferences, workspaceId: workspace.id };
    await client.query(
      `update workspaces set preferences = $2, version = version + 1,
         tickets_since = case when $3 then tickets_since else version + 1 end where id = $1`,
      [workspace.id, JSON.stringify(preferences), permitsAllOf(before, preferences)],
    );
    await recordAct(client, { actor: byAccount(accountId), act: 'preferences_changed', workspaceId: workspace.id });
    return { preferences, workspaceId: workspace.id };
  });
}
