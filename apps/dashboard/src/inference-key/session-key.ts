import type { WorkspacePolicyAnswer } from '@sotto/contract/control/policies';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { allKeys, createKey } from '../api/keys.ts';
import { policyQuery } from '../api/queries.ts';
import { formatUsd } from '../format/format.ts';
import { defaultLimitUsd, keepTabKey, type TabKey, tabKeyNow, tabKeyOf } from './tab-key.ts';

/** How long the key of a session lasts. Every policy allows a day. */
const lastsHours = 12;

const limitUsd = ({ max_key_limit_usd: most }: WorkspacePolicyAnswer): number =>
  Math.min(defaultLimitUsd, most ?? defaultLimitUsd);

/** What the key of a session may do, such as "for 12 hours, at most $1.00, and only for the private flow". */
export function useSessionKeyTerms({ id }: WorkspaceAnswer): string {
  const { data: policy } = useQuery(policyQuery(id));
  const limit = policy === undefined ? '' : `, at most ${formatUsd(limitUsd(policy))}`;
  return `for ${lastsHours} hours${limit}, and only for the private flow`;
}

/** The key that the first message creates: with a small limit, for some hours, and only for the private flow. */
const sessionKeyBody = (workspaceId: string, policy: WorkspacePolicyAnswer, now: number) => ({
  name: 'Playground',
  kind: 'inference' as const,
  workspace_id: workspaceId,
  credit_limit_usd: limitUsd(policy),
  expires_at: new Date(now + lastsHours * 3_600_000).toISOString(),
  openai_compatible: false,
});

const underWay = new Map<string, Promise<TabKey>>();

/**
 * Returns a function that resolves to the key of the tab, and creates one if there is none that lasts. Two requests at
 * once share the key. It is listed with all others, and bound by the policy of the workspace.
 */
export function useSessionKey({ id }: WorkspaceAnswer): () => Promise<TabKey> {
  const client = useQueryClient();
  return () => {
    const kept = tabKeyNow(id);
    if (kept !== undefined) return Promise.resolve(kept);
    const creating = underWay.get(id) ?? create(client, id).finally(() => underWay.delete(id));
    underWay.set(id, creating);
    return creating;
  };
}

async function create(client: QueryClient, workspaceId: string): Promise<TabKey> {
  const policy = await client.fetchQuery(policyQuery(workspaceId));
  const key = tabKeyOf(await createKey(sessionKeyBody(workspaceId, policy, Date.now())), true);
  keepTabKey(workspaceId, key);
  void client.invalidateQueries(allKeys);
  return key;
}
