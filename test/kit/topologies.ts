/**
 * How the service runs: embedded (one process, state in memory), as two processes on a real Redis, or as two processes
 * on a Redis Cluster. The cluster has three nodes, and every commit waits for a Postgres standby. Postgres is real in
 * all topologies.
 */
export type Topology = 'one' | 'two' | 'cluster';

export const everyTopology: readonly Topology[] = ['two', 'one', 'cluster'];

/** What the name of a suite says in parentheses. */
export const topologyTitles: Readonly<Record<Topology, string>> = {
  one: 'embedded',
  two: 'two processes',
  cluster: 'two processes on a Redis Cluster and a Postgres with a standby',
};
