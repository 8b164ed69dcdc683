/**
 * The channels on which the state announces that there is something to read. A message says nothing else. Both planes send
 * each, and brokers hear `published` alone (`deploy/redis`).
 */
export const channels = {
  /** `settle` says that a shard's stream has a first entry. */
  settled: 'sotto:settled',
  /** A process has joined a shard, or has declared holds that control restores. */
  joined: 'sotto:joined',
  /** The catalog, the registry or a penalty is another. */
  published: 'sotto:published',
} as const;
export type Channel = keyof typeof channels;
