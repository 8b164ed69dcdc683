import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CreditIssuer } from '@sotto/wire';
import { afterEach, beforeEach } from 'vitest';
import { Purse, type PurseOptions } from '../purse.ts';
import { Schedule } from '../schedule.ts';
import { Issuer, issuer } from './issuer.ts';

/** Those of each test: a clock, a folder with the file of a purse, and a service. */
export const clock = { now: Date.parse('2026-11-15T12:00:00Z') };
export let folder = '';
export let file = '';

export let service: Issuer;
/** Makes them anew for each test of a file. Call it there: files share a process, and this module. */
export function usePurse(): void {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sotto-purse-'));
    file = join(folder, 'own', 'purse');
    service = new Issuer();
    watched.length = 0;
    clock.now = Date.parse('2026-11-15T12:00:00Z');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
}

export const open = (own: Partial<PurseOptions> = {}): Promise<Purse> =>
  Purse.open({ file, userId: process.getuid?.(), now: () => clock.now, random: (least) => least, wait, ...own });
export const hour = 3_600_000;
/** Buys the first lots of a schedule. */
export async function bought(
  lots: number,
  own: Partial<PurseOptions> = {},
  pinned: CreditIssuer = issuer,
): Promise<void> {
  const options = { file, userId: process.getuid?.(), now: () => clock.now, random: (least: number) => least, ...own };
  const schedule = await Schedule.open({ ...options, scheduleFile: join(folder, 'apart', 'schedule') });
  schedule.begin({ code: 'AAAA-BBBB-CCCC-0000', lotsAWeek: 0, firstUseDays: 0 });
  for (let lot = 0; lot < lots; lot += 1) await schedule.buyNext(service, pinned);
  schedule.close();
}
/** A purse with rested credits of this many batches. */
export async function filled(batches: number): Promise<Purse> {
  await bought(batches);
  clock.now += hour;
  return open();
}
export const lost = new Error('the connection broke');
export const none = { wallets: 0, credits: 0, packages: [] };
export const one = { wallets: 1, credits: 50, packages: [] };
export const watched: number[] = [];
/** Longer than a lease. */
export const minute = 60_000;
const wait = async (ms: number): Promise<void> => void watched.push(ms);
