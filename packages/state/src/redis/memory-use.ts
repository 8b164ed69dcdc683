import { Cluster } from 'ioredis';
import type { MemoryUse } from '../ports/index.ts';
import type { RedisConnection } from './connection.ts';

/** Returns the memory of the fullest master. Undefined if Redis hides it. Rejects if a master does not answer. */
export async function readMemoryUse(connection: RedisConnection): Promise<MemoryUse | undefined> {
  const masters = connection instanceof Cluster ? connection.nodes('master') : [connection];
  const uses = await Promise.all(masters.map(async (node) => parseMemoryUse(await infoOf(node))));
  return uses.reduce((fullest, use) => (fullest === undefined || shareOf(use) > shareOf(fullest) ? use : fullest));
}

/** Returns the used part of the memory, from 0 to 1. */
const shareOf = (use: MemoryUse | undefined): number => (use === undefined ? 0 : use.usedBytes / use.limitBytes);

async function infoOf(node: { info(section: string): Promise<string> }): Promise<string> {
  try {
    return await node.info('memory');
  } catch (error) {
    // A managed Redis may hide it.
    if (error instanceof Error && error.name === 'ReplyError') return '';
    throw error;
  }
}

/** Reads INFO MEMORY. Without `maxmemory`, the limit is the memory of the machine. */
export function parseMemoryUse(info: string): MemoryUse | undefined {
  const read = (field: string): number => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const usedBytes = read('used_memory');
  const limitBytes = read('maxmemory') || read('total_system_memory');
  return usedBytes > 0 && limitBytes > 0 ? { usedBytes, limitBytes } : undefined;
}
