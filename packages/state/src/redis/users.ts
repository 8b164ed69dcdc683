import { Cluster, type Redis } from 'ioredis';
import type { RedisConnection } from './connection.ts';

/** What brokers call their connections, so that an operator can tell whose they are (CLIENT LIST). */
export const brokerConnectionName = 'sotto-broker';

/** A key that only control would have. The user of a broker needs none that does not begin with `sotto:`. */
const controlKey = 'control:limit:none';

/** Whether Redis refused a command, or one within a script, because the user has no right to it. */
export const isDenial = ({ message }: Error): boolean =>
  message.startsWith('NOPERM') || message.includes('user executing the script can');

/** Whether the user of this connection can read what is control's. Rejects where Redis does not answer. */
export async function readsControlKeys(connection: Pick<RedisConnection, 'get'>): Promise<boolean> {
  try {
    await connection.get(controlKey);
    return true;
  } catch (error) {
    if (error instanceof Error && isDenial(error)) return false;
    throw error;
  }
}

/**
 * The users by which brokers are connected and that can read what is control's; undefined where no broker is connected
 * or Redis does not let itself be asked.
 */
export async function exposedUsers(connection: RedisConnection): Promise<readonly string[] | undefined> {
  const node = connection instanceof Cluster ? connection.nodes('master')[0] : connection;
  try {
    const users = node === undefined ? [] : await usersOfBrokers(node);
    if (node === undefined || users.length === 0) return undefined;
    const answers = await Promise.all(users.map((user) => node.call('ACL', 'DRYRUN', user, 'GET', controlKey)));
    return users.filter((_, at) => answers[at] === 'OK');
  } catch {
    return undefined;
  }
}

async function usersOfBrokers(node: Redis): Promise<string[]> {
  const lines = String(await node.call('CLIENT', 'LIST')).split('\n');
  const own = lines.filter((line) => line.includes(` name=${brokerConnectionName} `));
  return [...new Set(own.flatMap((line) => / user=(\S+)/.exec(line)?.[1] ?? []))];
}
