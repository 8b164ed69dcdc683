import { hash } from 'node:crypto';

/** Names a workspace in the shared state. The payer is part of it, because a workspace that is handed over moves to another shard. */
export const workspaceIdOf = (accountId: string, workspaceId: string): string =>
  hash('sha256', ['sotto workspace', accountId, workspaceId].join(' '), 'base64url').slice(0, 22);

/** Names the versions of a key and of its workspace's preferences, as the marks of tickets state them. */
export const generationOf = (keyGeneration: number, preferencesVersion: number): string =>
  `${keyGeneration}.${preferencesVersion}`;

export const generationPattern = /^\d+\.\d+$/;

/**
 * Returns a generation as brokers see it beside a key. Preferences have one version for all keys of a workspace, which would link
 * these keys. The wallet's id is random and unknown to brokers, so they cannot reverse the digest. The scripts compute the same.
 */
export const shownGeneration = (walletId: string, keyHash: string, generation: string): string =>
  hash('sha1', `${walletId} ${keyHash} ${generation}`);
