export { CLUSTER_BUS_OFFSET, freePort, listenOnLoopback } from './free-port.ts';
export { noteSkip, skipNotesVariable } from './note-skip.ts';
export { onPath } from './on-path.ts';
export {
  createTestDatabase,
  hasSharedPostgres,
  openTestPool,
  sharedPostgresVariable,
  startTestPostgres,
  type TestPostgres,
  templateVariable,
} from './postgres.ts';
export {
  hasSharedRedis,
  type OwnRedis,
  type OwnRedisOptions,
  redisSkipReason,
  sharedRedisVariable,
  startOwnRedis,
  startTestRedis,
  type TestRedis,
} from './redis.ts';
export { startRedisCluster, type TestRedisCluster } from './redis-cluster.ts';
export { answers, withRedis } from './redis-connection.ts';
export { type RedisProcessOptions, startRedisProcess } from './redis-process.ts';
export { until } from './until.ts';
export { dieTogether, whenWeEnd } from './when-we-end.ts';
export { type Held, whileHeld } from './while-held.ts';
