import { noteSkip, type OwnRedis, redisSkipReason, startOwnRedis } from '@sotto/test-servers';
import { type FaultProxy, startFaultProxy } from '../../kit/fault-proxy.ts';
import { type LogPipe, openLogPipe } from '../../kit/log-pipe.ts';
import { type MovedClocks, openMovedClocks } from '../../kit/moved-clock.ts';
import { type OwnNames, openOwnNames } from '../../kit/own-network.ts';
import { type OwnPostgres, startOwnPostgres } from '../../kit/postgres.ts';
import { type ScriptedProvider, startScriptedProvider } from '../../kit/scripted-provider.ts';
import { type Service, startService, type TestAccount } from '../../kit/service.ts';
import { mountSmallDisk, type SmallDisk } from '../../kit/small-disk.ts';
import { StageProviders } from '../../kit/stage/providers.ts';
import { scriptedModel } from '../../kit/stage/scripted-model.ts';
import type { GivenServer } from '../../kit/stage/spec.ts';

export const creditedUsd = 10_000;

/** Two processes, their servers and two providers. A test can break every line between them. */
export interface Rig {
  readonly service: Service;
  readonly account: TestAccount;
  readonly provider: Pick<ScriptedProvider, 'answered'>;
  /** The provider that is tried first, and the other one. */
  readonly providers: readonly [ScriptedProvider, ScriptedProvider];
  /** The present server; a failover replaces it. */
  readonly redis: OwnRedis;
  readonly postgres: OwnPostgres;
  readonly lines: {
    readonly brokerToRedis: FaultProxy;
    readonly controlToRedis: FaultProxy;
    readonly controlToPostgres: FaultProxy;
    readonly toProviders: readonly [FaultProxy, FaultProxy];
  };
  /** Each is undefined if this machine does not support it. */
  readonly names: OwnNames | undefined;
  readonly clocks: MovedClocks;
  readonly redisDisk: SmallDisk | undefined;
  readonly postgresDisk: SmallDisk | undefined;
  readonly logs: { readonly broker: LogPipe; readonly control: LogPipe };
  /** Sets the destination of a process's log from its next start on. Undefined restores its pipe. */
  logTo(plane: 'broker' | 'control', fd: number | undefined): void;
  /** Starts a further server, as a replacement for the present one. */
  startRedis(): Promise<OwnRedis>;
  /** Directs new connections to this server. The tests' own connections move at once. */
  moveRedis(next: OwnRedis): void;
  movePostgres(next: OwnPostgres): void;
  stop(): Promise<void>;
}

const portOf = (url: string): number => Number(new URL(url).port);

/** Returns `url` with the host name and port of a proxy. */
function through(url: string, { port }: FaultProxy, name: string): string {
  const to = new URL(url);
  to.hostname = name;
  to.port = String(port);
  return to.href;
}

/** Undefined if this machine lacks Redis; the run then reports the skipped tests. */
export async function openRig(what: string): Promise<Rig | undefined> {
  const stops: (() => Promise<void> | void)[] = [];
  let running: Service | undefined;
  const stop = async (): Promise<void> => {
    await running?.stop();
    for (let last = stops.pop(); last !== undefined; last = stops.pop()) await last();
  };
  const opened = <T extends { stop(): Promise<void> }>(thing: T): T => {
    stops.push(() => thing.stop());
    return thing;
  };
  const line = async (port: number): Promise<FaultProxy> => {
    const proxy = await startFaultProxy(port);
    stops.push(() => proxy.close());
    return proxy;
  };

  const clocks = opened(await openMovedClocks());
  const redisDisk = await mountSmallDisk(256);
  const postgresDisk = await mountSmallDisk(768);
  for (const disk of [redisDisk, postgresDisk]) if (disk !== undefined) opened(disk);
  const startRedis = async (): Promise<OwnRedis | undefined> => {
    const started = await startOwnRedis({
      appendOnly: true,
      ...(redisDisk === undefined ? {} : { within: redisDisk.folder }),
      ...clocks.native,
    });
    return started && opened(started);
  };
  const firstRedis = await startRedis();
  if (firstRedis?.pid === undefined) {
    noteSkip(what, redisSkipReason);
    await stop();
    return undefined;
  }
  const firstPostgres = opened(
    await startOwnPostgres({
      durability: 'full',
      ...(postgresDisk === undefined ? {} : { within: postgresDisk.folder }),
    }),
  );
  let [redis, postgres]: [OwnRedis, OwnPostgres] = [firstRedis, firstPostgres];
  const answered = new Set<string>();
  const providers = [
    opened(await startScriptedProvider('alpha', answered)),
    opened(await startScriptedProvider('beta', answered)),
  ] as const;
  const brokerToRedis = await line(portOf(redis.url));
  const controlToRedis = await line(portOf(redis.url));
  const controlToPostgres = await line(postgres.port);
  const toProviders = [await line(portOf(providers[0].baseUrl)), await line(portOf(providers[1].baseUrl))] as const;
  // The tests' own connections, which no fault affects.
  const testsToRedis = await line(portOf(redis.url));
  const testsToPostgres = await line(postgres.port);

  const names = await openOwnNames(['localhost', 'redis.test', 'postgres.test']);
  if (names !== undefined) opened(names);
  const nameOf = (name: string): string => (names === undefined ? '127.0.0.1' : name);
  const logs = { broker: opened(await openLogPipe()), control: opened(await openLogPipe()) };
  const elsewhere = new Map<string, number>();
  const ownOf = (plane: 'broker' | 'control', environment: Readonly<Record<string, string>>) => ({
    flags: clocks.node.flags,
    environment: { ...environment, ...clocks.node.environment },
    ...(names === undefined ? {} : { under: names.under }),
    stdout: () => elsewhere.get(plane) ?? logs[plane].fd,
  });
  // Plain HTTP is allowed only on loopback, by this name.
  const [alpha, beta] = toProviders.map(({ port }) => ({ baseUrl: `http://${nameOf('localhost')}:${port}/v1` })) as [
    GivenServer,
    GivenServer,
  ];
  const { files } = await StageProviders.start(scriptedModel({ servers: { alpha, beta } }));
  const databaseUrl = await postgres.createDatabase();
  const service = await startService({
    planes: 'two',
    databaseUrl: through(databaseUrl, testsToPostgres, '127.0.0.1'),
    redisUrl: through(redis.url, testsToRedis, '127.0.0.1'),
    ...files,
    own: {
      broker: ownOf('broker', { REDIS_URL: through(redis.url, brokerToRedis, nameOf('redis.test')) }),
      control: ownOf('control', {
        REDIS_URL: through(redis.url, controlToRedis, nameOf('redis.test')),
        DATABASE_URL: through(databaseUrl, controlToPostgres, nameOf('postgres.test')),
      }),
    },
  });
  running = service;
  return {
    service,
    account: await service.createAccount({ usd: creditedUsd }),
    provider: { answered },
    providers,
    get redis() {
      return redis;
    },
    get postgres() {
      return postgres;
    },
    lines: { brokerToRedis, controlToRedis, controlToPostgres, toProviders },
    names,
    clocks,
    redisDisk,
    postgresDisk,
    logs,
    logTo(plane, fd) {
      if (fd === undefined) elsewhere.delete(plane);
      else elsewhere.set(plane, fd);
    },
    async startRedis() {
      const started = await startRedis();
      if (started === undefined) throw new Error('there is no Redis any more');
      return started;
    },
    moveRedis(next) {
      redis = next;
      for (const proxy of [brokerToRedis, controlToRedis, testsToRedis]) proxy.moveTo(portOf(next.url));
    },
    movePostgres(next) {
      postgres = opened(next);
      for (const proxy of [controlToPostgres, testsToPostgres]) proxy.moveTo(next.port);
      testsToPostgres.cut();
    },
    stop,
  };
}
