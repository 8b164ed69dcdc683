import { lateMs } from '../bounds.ts';
import type { KeyProjection, RemovedKey, WorkspaceProjection } from '../ports/index.ts';
import { endAt, takeEnded } from './endings.ts';
import { empty, type ShardData, type StoredKey, type StoredWorkspace } from './shard-data.ts';

/**
 * The records of a shard's keys and of their workspaces. A key's record stays while requests may use the key or amounts count in it, and
 * a workspace's while keys name it. After that, what refuses an older projection is kept for longer than one can be late.
 */

type Kind = 'keys' | 'workspaces' | 'budgets';

/** Forgets a record later. */
export const endLater = ({ endings }: ShardData, kind: Kind, id: string, now: number): void =>
  endAt(endings, `${kind} ${id}`, now + lateMs);

export const keep = ({ endings }: ShardData, kind: Kind, id: string): void => void endings.delete(`${kind} ${id}`);

/** Forgets the records whose time has passed. */
export function forgetEnded(shard: ShardData, now: number): void {
  for (const name of takeEnded(shard.endings, now)) {
    const at = name.indexOf(' ');
    const kind = name.slice(0, at) as Kind;
    shard[kind].delete(name.slice(at + 1));
  }
}

export function keyOrEmpty({ keys }: ShardData, keyHash: string): StoredKey {
  const known = keys.get(keyHash);
  if (known !== undefined) return known;
  const key: StoredKey = { projection: undefined, generation: -1, spend: empty, limited: false };
  keys.set(keyHash, key);
  return key;
}

/** Decides how long the record of a key that no request may use stays. */
export function rest(shard: ShardData, keyHash: string, now: number): void {
  const key = shard.keys.get(keyHash);
  if (key === undefined || key.projection !== undefined) return;
  if (key.spend.heldNusd === 0n && key.spend.unbookedNusd === 0n) endLater(shard, 'keys', keyHash, now);
  else keep(shard, 'keys', keyHash);
}

/** Returns whether the workspace's record lacks the preferences. Undefined if the state has a newer generation of the key. */
export function putKey(shard: ShardData, projection: KeyProjection, now: number): boolean | undefined {
  const { keyHash, workspace } = projection;
  const key = keyOrEmpty(shard, keyHash);
  if (projection.generation < key.generation) return undefined;
  const before = key.projection?.workspace.workspaceId;
  key.projection = projection;
  key.generation = projection.generation;
  keep(shard, 'keys', keyHash);
  if (before !== workspace.workspaceId) {
    if (before !== undefined) countKeys(shard, before, -1, now);
    countKeys(shard, workspace.workspaceId, 1, now);
  }
  const { version, preferences, isOff } = workspaceOrEmpty(shard, workspace.workspaceId);
  return (preferences === undefined && !isOff) || version < workspace.version;
}

/** Returns whether there was a record, or is one now that refuses older projections. */
export function removeKey(shard: ShardData, { keyHash, generation, isNews }: RemovedKey, now: number): boolean {
  const known = shard.keys.get(keyHash);
  if ((known?.generation ?? -1) < 0 && !isNews) return false;
  const key = keyOrEmpty(shard, keyHash);
  const { projection } = key;
  if (key.generation > generation || (key.generation === generation && projection === undefined)) return false;
  key.projection = undefined;
  key.generation = generation;
  if (projection !== undefined) countKeys(shard, projection.workspace.workspaceId, -1, now);
  rest(shard, keyHash, now);
  return true;
}

/** Returns whether the version is not older than the present one. */
export function putWorkspace(
  shard: ShardData,
  { workspaceId, version, ticketsSince = version, preferences }: WorkspaceProjection,
  now: number,
): boolean {
  const workspace = workspaceOrEmpty(shard, workspaceId);
  if (version < workspace.version) return false;
  workspace.version = version;
  if (workspace.keys <= 0) {
    endLater(shard, 'workspaces', workspaceId, now);
  } else {
    workspace.preferences = preferences;
    workspace.ticketsSince = ticketsSince;
    workspace.isOff = preferences === undefined;
  }
  return true;
}

function countKeys(shard: ShardData, workspaceId: string, by: 1 | -1, now: number): void {
  const workspace = workspaceOrEmpty(shard, workspaceId);
  workspace.keys += by;
  if (workspace.keys > 0) {
    keep(shard, 'workspaces', workspaceId);
  } else {
    workspace.preferences = undefined;
    workspace.isOff = false;
    endLater(shard, 'workspaces', workspaceId, now);
  }
}

function workspaceOrEmpty({ workspaces }: ShardData, workspaceId: string): StoredWorkspace {
  const known = workspaces.get(workspaceId);
  if (known !== undefined) return known;
  const workspace: StoredWorkspace = { version: -1, ticketsSince: -1, preferences: undefined, isOff: false, keys: 0 };
  workspaces.set(workspaceId, workspace);
  return workspace;
}
