import { lateMs } from '../bounds.ts';
import type { AdmissionPort } from '../ports/index.ts';
import { indexShardOfKey, shardPrefix } from '../shard.ts';
import { readKey } from '../steps/admission-steps.ts';
import { listReply } from '../steps/read-reply.ts';
import { type KeyIndex, secretHashesOf } from '../steps/stepped-state.ts';
import { StateUnavailableError } from '../unavailable.ts';
import type { ScriptRunner } from './script-runner.ts';

/**
 * The Redis key of a secret's index entry: the shard of its key, and the key's hash if the secret is not the one that names the key.
 * It is on a shard, whose epoch shows whether the index is complete.
 */
const entryName = (secretHash: string): string => `${shardPrefix(indexShardOfKey(secretHash))}index:${secretHash}`;

export const redisKeyIndex = (runner: ScriptRunner): KeyIndex => ({
  async put({ keyHash, shard, secrets }) {
    const entry = (secretHash: string): string => (secretHash === keyHash ? String(shard) : `${shard} ${keyHash}`);
    const hashes = secretHashesOf({ keyHash, secrets });
    await runner.plain((redis) => Promise.all(hashes.map((hash) => redis.set(entryName(hash), entry(hash)))));
  },
  async end(hashes) {
    if (hashes.length === 0) return;
    await runner.plain((redis) => Promise.all(hashes.map((hash) => redis.pexpire(entryName(hash), lateMs))));
  },
});

/** Finds a key by the index, and reads its record. */
export const keyLookup =
  (runner: ScriptRunner, now: () => string): AdmissionPort['lookupKey'] =>
  async (secretHash) => {
    const prefix = shardPrefix(indexShardOfKey(secretHash));
    const [entry, open] = await runner.plain((redis) =>
      Promise.all([redis.get(entryName(secretHash)), redis.hget(`${prefix}epoch`, 'open')]),
    );
    if (entry == null) {
      if (open !== '1') throw new StateUnavailableError('not projected');
      return undefined;
    }
    const [shardText, alias] = entry.split(' ');
    const shard = Number(shardText);
    const asked = [now(), alias ?? secretHash, secretHash];
    const [found, ...known] = listReply(await runner.onShard('readKey', shard, asked));
    if (found === 'not_projected') throw new StateUnavailableError('not projected');
    if (found !== 'active') return undefined;
    const key = readKey(known, shard);
    return alias === undefined ? key : { ...key, keyHash: alias };
  };
