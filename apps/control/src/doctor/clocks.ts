import { type Finding, ok, warning, wrong } from './check.ts';

/** Tickets and leases are judged by Redis' clock, usage and orders by Postgres' and ours: they may be this far apart. */
const unevenMs = 2_000;
const wrongMs = 30_000;

/** How far another clock is from ours. `theirs` was read somewhere within the `tookMs` before `ours`, all in ms. */
export function compareClocks(
  subject: string,
  { ours, theirs, tookMs }: { readonly ours: number; readonly theirs: number; readonly tookMs: number },
): Finding {
  const apartMs = Math.max(0, Math.abs(ours - tookMs / 2 - theirs) - tookMs / 2);
  const found = apartMs < 1000 ? 'agrees with ours' : `is ${(apartMs / 1000).toFixed(1)} s from ours`;
  const advice = 'Keep the clocks of all machines set, by chrony or systemd-timesyncd.';
  if (apartMs > wrongMs) return wrong(subject, found, advice);
  return apartMs > unevenMs ? warning(subject, found, advice) : ok(subject, found);
}
