/** The channel on which `settle` says that a shard's stream has a first entry. It says nothing else. Brokers' users need the right to it. */
export const settledChannel = 'sotto:settled';
