import { type RefusalKind, refusalKinds } from '@sotto/wire';
import type { RefusalCount } from './ports/index.ts';

/** Refused requests are counted by hours since 1970, by Redis' clock. */
export const refusalHour = (ms: number): number => Math.floor(ms / 3_600_000);

/** Names a count within its hour. */
export const refusalCountName = (epoch: number, keyHash: string, kind: RefusalKind): string =>
  `${epoch} ${keyHash} ${kind}`;

/** Reads a count by its name. Returns nothing for a kind that only a later version knows. */
export function readRefusalCount(hour: number, name: string, count: number): RefusalCount[] {
  const [epoch, keyHash = '', word] = name.split(' ');
  const kind = refusalKinds.find((each) => each === word);
  return kind === undefined ? [] : [{ hour, epoch: Number(epoch), keyHash, kind, count }];
}
