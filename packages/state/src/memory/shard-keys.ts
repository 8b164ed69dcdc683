import { generationOf, shownGeneration } from '../generation.ts';
import type { KeyProjection, VersionedKey } from '../ports/index.ts';
import { StateUnavailableError } from '../unavailable.ts';
import type { ShardData } from './shard-data.ts';

/** The rights of a key's record now: which secrets open it, and which tickets and plans are of its generation. */

/** Whether a key has not expired, and has this secret now. A ticket shows no secret. */
export function opens(
  { expiresAt, secrets, keyHash }: KeyProjection,
  secretHash: string | undefined,
  now: number,
): boolean {
  if (expiresAt !== undefined && expiresAt <= now) return false;
  if (secretHash === undefined) return true;
  if (secrets === undefined || secrets.length === 0) return secretHash === keyHash;
  const shown = secrets.find((secret) => secret.secretHash === secretHash);
  return shown !== undefined && (shown.endsAt === undefined || shown.endsAt > now);
}

/** Returns a key's record as brokers see it. Undefined if its preferences are unreadable, which permits nothing. */
export function versionedKey(data: ShardData, projection: KeyProjection, shard: number): VersionedKey | undefined {
  const { walletId, keyHash, record, workspace } = projection;
  const generation = generationOfKey(data, projection);
  if (generation === undefined) return undefined;
  const preferences = data.workspaces.get(workspace.workspaceId)?.preferences;
  if (preferences === undefined) throw new StateUnavailableError('not projected');
  const shown = shownGeneration(walletId, keyHash, generation);
  return { record: { ...record, preferences }, generation: shown, shard };
}

/** Returns the generation of a key and its workspace's preferences. Undefined if these are unreadable, which permits nothing. */
export function generationOfKey(
  { workspaces }: ShardData,
  { generation, workspace: { workspaceId } }: KeyProjection,
): string | undefined {
  const { version = -1, isOff = false } = workspaces.get(workspaceId) ?? {};
  if (isOff) return undefined;
  if (version < 0) throw new StateUnavailableError('not projected');
  return generationOf(generation, version);
}

/** Whether a ticket is still valid: its key is the same, and the preferences have only become looser since. */
export function isValidTicket(
  { workspaces }: ShardData,
  { generation, workspace: { workspaceId } }: KeyProjection,
  ticket: string | undefined,
): boolean {
  const { version, ticketsSince } = workspaces.get(workspaceId) ?? { version: -1, ticketsSince: 0 };
  const [, ofKey, of] = /^(\d+)\.(\d+)$/.exec(ticket ?? '') ?? [];
  return Number(ofKey) === generation && Number(of) >= ticketsSince && Number(of) <= version;
}

/** Whether key and preferences are projected with exactly this generation. */
export function hasGeneration({ workspaces }: ShardData, projection: KeyProjection, generation: string): boolean {
  const workspace = workspaces.get(projection.workspace.workspaceId);
  return workspace?.isOff === false && generationOf(projection.generation, workspace.version) === generation;
}
