import type { RegistryPublic } from '@sotto/router';
import type { SettingsOf } from '@sotto/server';
import {
  adviceOnTrouble,
  createRedisState,
  inspectRedis,
  isRejected,
  type MemoryUse,
  type State,
  shards,
} from '@sotto/state';
import { counted } from '../counted.ts';
import { compareClocks, type Finding, ok, reasonOf, warning, wrong } from './check.ts';

const subject = 'Redis';
const oldest = 7;
const timeoutMs = 3000;
/** The number of settlements per shard that are counted. If there are more, the settler is behind anyway. */
const looked = 500;

/** Checks that Redis answers, is recent enough, is durable, and has the right time. */
export async function examineRedis(
  { REDIS_URL: redisUrl, NODE_ENV }: Pick<SettingsOf<'control'>, 'REDIS_URL' | 'NODE_ENV'>,
  now: () => number,
): Promise<Finding[]> {
  try {
    const { version, timeMs, tookMs, problem, memory, exposedTo } = await inspectRedis(redisUrl, timeoutMs);
    const found = version === undefined ? 'answers' : `version ${version} answers`;
    return [
      Number.parseInt(version ?? `${oldest}`, 10) >= oldest
        ? ok(subject, found)
        : wrong(subject, found, `Upgrade it: Sotto needs version ${oldest} or later.`),
      problem === undefined
        ? ok('Redis’ durability', 'keeps acknowledged writes, as far as its settings are visible')
        : (NODE_ENV === 'production' ? wrong : warning)(
            'Redis’ durability',
            problem,
            'Correct it in redis.conf, or a crash loses money and tickets. With NODE_ENV=production, the service is not ready until then.',
          ),
      compareClocks('Redis’ clock', { ours: now(), theirs: timeMs, tookMs }),
      ...(memory === undefined ? [] : [judgeMemory(memory)]),
      ...examineUsers(exposedTo),
    ];
  } catch (error) {
    const cause = reasonOf(error);
    const found =
      cause === 'NOPERM'
        ? 'gives the user of REDIS_URL too few rights'
        : isRejected(cause)
          ? 'rejects the user or the password of REDIS_URL'
          : 'cannot be reached';
    return [wrong(subject, `${found} (${cause})`, adviceFor(cause))];
  }
}

/** Returns how to fix a cause, such as `WRONGPASS` or `ReplyError NOPERM`. */
function adviceFor(cause: string): string {
  const advice = adviceOnTrouble(cause.replace(/^\w+ (?=[A-Z]+$)/, ''));
  return `${advice.charAt(0).toUpperCase()}${advice.slice(1)}.`;
}

const mebibyte = 1024 * 1024;

/** Warns before Redis is full. A full Redis admits no request. */
export function judgeMemory({ usedBytes, limitBytes }: MemoryUse): Finding {
  const name = 'Redis’ memory';
  const used = usedBytes / limitBytes;
  const found = `${Math.round(usedBytes / mebibyte)} of ${Math.round(limitBytes / mebibyte)} MiB are used (${Math.floor(used * 100)} %)`;
  const advice =
    'Raise `maxmemory`, or give Redis a larger machine: when it is full, no request is admitted (docs/operate/monitoring-and-runbooks.md#sottoredisfilling).';
  if (used >= 0.95) return wrong(name, found, advice);
  return used >= 0.8 ? warning(name, found, advice) : ok(name, found);
}

/** Checks whether brokers can read control’s keys. Returns no finding if that is unknown. */
function examineUsers(exposedTo: readonly string[] | undefined): Finding[] {
  if (exposedTo === undefined) return [];
  if (exposedTo.length === 0) return [ok('Redis’ users', 'brokers cannot read control’s keys')];
  return [
    warning(
      'Redis’ users',
      `brokers connect as \`${exposedTo.join('`, `')}\`, which can read control’s keys`,
      'Create a user with deploy/redis/acl-user.sh and put it into the broker’s REDIS_URL (docs/operate/systemd.md#redis-users).',
    ),
  ];
}

export interface ExaminedState {
  readonly findings: readonly Finding[];
  /** The registry that the brokers published. Undefined until a broker has published one. */
  readonly registry: RegistryPublic | undefined;
}

/**
 * Checks that the planes have filled the shared state (epochs, registry, catalog), and that the settler is not behind.
 */
export async function examineState(url: string, now: () => number): Promise<ExaminedState> {
  const state = createRedisState({ url, commandTimeoutMs: timeoutMs });
  try {
    // The state connects in the background, so the first read is retried.
    const registry = await patiently(() => state.readRegistry());
    const catalog = await state.readCatalog(0);
    const findings = [
      await examineEpochs(state),
      registry === undefined
        ? wrong(
            'registry',
            'no broker has published a registry',
            'Start a broker with the same REDIS_URL. If it fails, its log says why.',
          )
        : ok('registry', `${counted(registry.providers.length, 'provider')}, ${registry.digest.slice(0, 12)}…`),
      ...(registry === undefined ? [] : examinePlainHttp(registry)),
      catalog === undefined
        ? wrong(
            'catalog',
            'no catalog is active',
            'Start control. It publishes a catalog after a broker has published its registry.',
          )
        : ok('catalog', `${counted(catalog.file.models.length, 'model')} active, ${catalog.digest.slice(0, 12)}…`),
      await examineSettlements(state, now),
    ];
    return { findings, registry };
  } catch (error) {
    const reason = reasonOf(error);
    const finding = wrong('shared state', `cannot be read (${reason})`, adviceFor(reason));
    return { findings: [finding], registry: undefined };
  } finally {
    await state.close();
  }
}

/** Warns of providers that brokers reach without TLS. */
export function examinePlainHttp(registry: RegistryPublic): Finding[] {
  const plain = registry.providers.filter(({ insecure_http: isPlain }) => isPlain === true).map(({ id }) => id);
  if (plain.length === 0) return [];
  return [
    warning(
      'registry',
      `brokers reach \`${plain.join('`, `')}\` without TLS: the network between them can read content`,
      'Give the model server a certificate and an https:// base_url, or keep both on one machine (docs/operate/providers-and-catalog.md).',
    ),
  ];
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
    `${closed} of ${members.length} shards are closed, waiting for ${awaited} ${awaited === 1 ? 'process' : 'processes'}`,
    'Control opens them within seconds after every live broker has reported its holds. Check that control runs and that the brokers reach this Redis.',
  );
}

/** Control books a settlement within a second. It tries again after 5 s, and another process takes over within 30 s. */
const stuckMs = 60_000;
/** The time after which doctor looks whether old settlements were booked. */
const againMs = 2_000;

async function examineSettlements(state: State, now: () => number): Promise<Finding> {
  const read = () => Promise.all(shards.map((shard) => state.readSettlements(shard, '0-0', looked)));
  const waiting = await read();
  const count = waiting.reduce((sum, some) => sum + some.length, 0);
  if (count === 0) return ok('settlements', 'none are waiting for the ledger');
  const isBehind = waiting.some((some) => some.length >= looked);
  // The id of an entry begins with the time at which Redis took it, in Unix ms.
  const oldest = Math.min(...waiting.flatMap((some) => some.map(({ streamId }) => Number.parseInt(streamId, 10))));
  const ageMs = now() - oldest;
  const found = `${isBehind ? 'more than ' : ''}${count === 1 ? '1 is' : `${count} are`} waiting for the ledger, the oldest for ${shownAge(ageMs)}`;
  if (ageMs >= stuckMs) {
    await new Promise((resolve) => setTimeout(resolve, againMs));
    const later = await read();
    const isStuck = waiting.map(([first], at) => first !== undefined && later[at]?.[0]?.streamId === first.streamId);
    const stuck = isStuck.filter(Boolean).length;
    const some = stuck < waiting.filter(([first]) => first !== undefined).length;
    const advice = 'Check that control runs; in its log, `task failed` with the task `settler` has the cause.';
    if (stuck > 0) {
      const what = some ? `${counted(stuck, 'shard')} of ${shards.length} books nothing.` : 'Nothing is booked.';
      return wrong('settlements', found, `${what} ${advice}`);
    }
  }
  return isBehind || ageMs >= stuckMs
    ? warning('settlements', found, 'The settler is behind. Check that control runs and that Postgres is fast enough.')
    : ok('settlements', found);
}

const shownAge = (ms: number): string =>
  ms < 120_000 ? `${Math.max(0, Math.round(ms / 1000))} s` : `${Math.round(ms / 60_000)} minutes`;
