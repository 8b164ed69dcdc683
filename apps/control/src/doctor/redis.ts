import type { RegistryPublic } from '@sotto/router';
import { createRedisState, inspectRedis, type State, shards } from '@sotto/state';
import type { ControlConfig } from '../config.ts';
import { type Finding, ok, reasonOf, warning, wrong } from './check.ts';
import { compareClocks } from './clocks.ts';

const subject = 'Redis';
const oldest = 7;
const timeoutMs = 3000;
/** So many settlements of a shard are looked at; where there are more the settler is behind, by whatever they are. */
const looked = 500;

/** Whether Redis answers, is new enough, keeps what it has answered, and agrees on the time. */
export async function examineRedis(
  { redisUrl, isProduction }: Pick<ControlConfig, 'redisUrl' | 'isProduction'>,
  now: () => number,
): Promise<Finding[]> {
  try {
    const { version, timeMs, tookMs, problem, exposedTo } = await inspectRedis(redisUrl, timeoutMs);
    const found = version === undefined ? 'answers' : `version ${version} answers`;
    return [
      Number.parseInt(version ?? `${oldest}`, 10) >= oldest
        ? ok(subject, found)
        : wrong(subject, found, `Upgrade it: ${oldest} is the oldest that is supported.`),
      problem === undefined
        ? ok('Redis’ durability', 'keeps what it has answered, as far as it shows its settings')
        : (isProduction ? wrong : warning)(
            'Redis’ durability',
            problem,
            'Set it so in redis.conf: money and tickets would be lost otherwise. With NODE_ENV=production no plane is ready before.',
          ),
      compareClocks('Redis’ clock', { ours: now(), theirs: timeMs, tookMs }),
      ...examineUsers(exposedTo),
    ];
  } catch (error) {
    return [
      wrong(
        subject,
        `cannot be reached (${reasonOf(error)})`,
        'Check REDIS_URL, and that the server takes connections from here.',
      ),
    ];
  }
}

/** Whether brokers can read what is control's; nothing where that cannot be told. */
function examineUsers(exposedTo: readonly string[] | undefined): Finding[] {
  if (exposedTo === undefined) return [];
  if (exposedTo.length === 0) return [ok('Redis’ users', 'brokers cannot read control’s keys')];
  return [
    warning(
      'Redis’ users',
      `brokers connect as \`${exposedTo.join('`, `')}\`, which can read control’s keys`,
      'Make a user with deploy/redis/acl-user.sh and put it into the broker’s REDIS_URL (docs/guides/deploy.md#redis-users).',
    ),
  ];
}

export interface ExaminedState {
  readonly findings: readonly Finding[];
  /** That the brokers have published; undefined where there is none. */
  readonly registry: RegistryPublic | undefined;
}

/** Whether the planes have filled the shared state: epochs, registry, catalog, and nothing that waits for the ledger. */
export async function examineState(url: string): Promise<ExaminedState> {
  const state = createRedisState({ url, commandTimeoutMs: timeoutMs });
  try {
    // It connects in the background.
    const registry = await patiently(() => state.readRegistry());
    const catalog = await state.readCatalog(0);
    const findings = [
      await examineEpochs(state),
      registry === undefined
        ? wrong(
            'registry',
            'no broker has published one',
            'Start a broker with the same REDIS_URL; its log says what keeps it.',
          )
        : ok('registry', `${registry.providers.length} providers, ${registry.digest.slice(0, 12)}…`),
      catalog === undefined
        ? wrong(
            'catalog',
            'none is in force',
            'Start control: it publishes one once a broker has published its registry.',
          )
        : ok('catalog', `${catalog.file.models.length} models in force, ${catalog.digest.slice(0, 12)}…`),
      await examineSettlements(state),
    ];
    return { findings, registry };
  } catch (error) {
    const advice = 'Look at what was found of Redis above.';
    return { findings: [wrong('shared state', `cannot be read (${reasonOf(error)})`, advice)], registry: undefined };
  } finally {
    await state.close();
  }
}

async function patiently<T>(read: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await read();
    } catch (error) {
      if (tries >= 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

async function examineEpochs(state: State): Promise<Finding> {
  const members = await Promise.all(shards.map((shard) => state.readMembers(shard)));
  const closed = members.filter(({ isOpen }) => !isOpen).length;
  if (closed === 0) return ok('epochs', `all ${members.length} shards are open`);
  const awaited = new Set(members.flatMap(({ isOpen, clients }) => (isOpen ? [] : clients))).size;
  return wrong(
    'epochs',
    `${closed} of ${members.length} shards are closed, with ${awaited} processes in them`,
    'Control opens them, within seconds, once every live broker has declared what it holds. Is control running, and do the brokers reach this Redis?',
  );
}

async function examineSettlements(state: State): Promise<Finding> {
  const waiting = await Promise.all(
    shards.map(async (shard) => (await state.readSettlements(shard, '0-0', looked)).length),
  );
  const count = waiting.reduce((sum, some) => sum + some, 0);
  const isBehind = waiting.some((some) => some >= looked);
  const found =
    count === 0 ? 'none waits for the ledger' : `${isBehind ? 'more than ' : ''}${count} wait for the ledger`;
  return isBehind
    ? warning('settlements', found, 'The settler is behind: is control running, and is Postgres fast enough?')
    : ok('settlements', found);
}
