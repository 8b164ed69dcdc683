import type { RefusalKind } from '@sotto/wire';
import { refusalsKeptMs } from '../bounds.ts';
import type { RefusalCounts } from '../ports/index.ts';
import { readRefusalCount, refusalCountName, refusalHour } from '../refusals.ts';
import type { ShardData } from './shard-data.ts';

/** Counts of refused requests by hour, epoch, key and kind. */

export function countRefusal(shard: ShardData, keyHash: string, kind: RefusalKind, now: number): void {
  const { epoch, keys, refusals } = shard;
  if (epoch === undefined || keys.get(keyHash)?.projection?.countsRefusals !== true) return;
  const hour = refusalHour(now);
  const counted = refusals.get(hour) ?? { until: 0, counts: new Map<string, number>() };
  refusals.set(hour, counted);
  const name = refusalCountName(epoch, keyHash, kind);
  const count = (counted.counts.get(name) ?? 0) + 1;
  counted.counts.set(name, count);
  if (count === 1) counted.until = now + refusalsKeptMs;
}

export function readRefusals({ refusals }: ShardData, fromHour: number, now: number): RefusalCounts {
  const hour = refusalHour(now);
  const counts = [...refusals]
    .filter(([each, { until }]) => each >= Math.max(fromHour, hour - 26) && each <= hour && until > now)
    .flatMap(([each, { counts }]) => [...counts].flatMap(([name, count]) => readRefusalCount(each, name, count)));
  return { hour, counts };
}

export function forgetRefusals({ refusals }: ShardData, now: number): void {
  for (const [hour, { until }] of refusals) if (until <= now) refusals.delete(hour);
}
