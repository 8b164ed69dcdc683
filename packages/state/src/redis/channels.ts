/**
 * The channels on which the state announces that there is something to read. A message says nothing else. The users of brokers and of
 * control need the right to both (`deploy/redis`).
 */
export const channels = {
  /** `settle` says that a shard's stream has a first entry. */
  settled: 'sotto:settled',
  /** The catalog, the registry or a penalty is another. */
  published: 'sotto:published',
} as const;
export type Channel = keyof typeof channels;
