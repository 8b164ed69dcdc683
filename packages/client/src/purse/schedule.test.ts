import { hash } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CreditRefusal } from './credit-service.ts';
import { Purse } from './purse.ts';
import { PurseFile } from './purse-file.ts';
import { Schedule } from './schedule.ts';
import { plannedFor, weekAfter, weekMs } from './schedule-times.ts';
import { Issuer, issuer, spkis } from './testing/issuer.ts';

const hour = 3_600_000;
const code = 'AAAA-BBBB-CCCC-0000';
const start = Date.parse('2026-11-15T12:00:00Z');
let folder = '';
let service: Issuer;
const clock = { now: start };
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sotto-schedule-'));
  service = new Issuer();
  clock.now = start;
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

const files = () => ({ file: join(folder, 'purse'), scheduleFile: join(folder, 'apart', 'schedule') });
const options = () => ({ ...files(), userId: process.getuid?.(), now: () => clock.now });
/** Draws the middle of each range. */
const middle = (least: number, below: number): number => Math.floor((least + below) / 2);
const open = (random = middle): Promise<Schedule> => Schedule.open({ ...options(), random });
async function begun(lotsAWeek: number | undefined = 3, firstUseDays = 7): Promise<Schedule> {
  const schedule = await open();
  schedule.begin({ code, lotsAWeek, firstUseDays });
  return schedule;
}
/** Buys what is due. Returns the time of the next lot. */
async function buyDue(schedule: Schedule): Promise<number> {
  for (;;) {
    const bought = await schedule.buyNext(service, issuer);
    if ('next' in bought) return bought.next;
    if (!schedule.hasPermission && !schedule.isWaiting) return Number.POSITIVE_INFINITY;
  }
}
async function balance() {
  const purse = await Purse.open(options());
  const found = purse.balance();
  purse.close();
  return found;
}
const lost = new Error('the connection broke');

test('five lots are bought first, and then three a week, whatever is left; the first use waits', async () => {
  const schedule = await begun();
  const next = await buyDue(schedule);
  expect(service.paid.size).toBe(5);
  // All first lots wait together. Otherwise the one that waits least would tell when they were bought.
  const { resting, readyAt } = await balance();
  expect([resting, readyAt]).toEqual([250, start + 3.5 * 24 * hour]);
  expect(next).toBe(weekAfter(start, middle));
  const times: number[] = [];
  for (let at = next; at < start + 4 * weekMs; at = await buyDue(schedule)) {
    clock.now = at;
    times.push(Math.floor(at / weekMs));
  }
  await buyDue(schedule);
  const weeks = [...Map.groupBy(times, (week) => week).keys()];
  expect(weeks).toEqual(Array.from({ length: weeks.length }, (_, at) => Math.floor(start / weekMs) + 1 + at));
  expect(service.paid.size).toBe(5 + 3 * weeks.length);
  schedule.close();
}, 60_000);

test('a lot is bought once in a week: when missed at a random time later, and never several at once', () => {
  // A machine that slept, or whose clock jumped forwards and back, must not catch up: the operator would see when it woke.
  const time = fc.integer({ min: start - 60 * weekMs, max: start + 60 * weekMs });
  fc.assert(
    fc.property(time, time, fc.nat(weekMs - 1), (at, now, drawn) => {
      const planned = plannedFor(at, now, () => drawn);
      if (at >= now - hour && at < now + 2 * weekMs) expect(planned).toBe(at);
      else expect(planned).toBe(now + drawn);
      expect(planned - now).toBeLessThan(2 * weekMs);
      const after = weekAfter(planned, () => drawn);
      expect(Math.floor(after / weekMs)).toBe(Math.floor(planned / weekMs) + 1);
      // A plan that no clock disturbs is kept until it is due.
      expect(plannedFor(after, Math.max(now, planned), () => 0)).toBe(after);
    }),
  );
});

test('a machine that slept for weeks, and a clock that jumps, buy nothing at once and no more than the schedule', async () => {
  const schedule = await begun();
  await buyDue(schedule);
  for (const jump of [9 * weekMs, -20 * weekMs, 300 * weekMs - start, 3 * hour, -hour]) {
    clock.now += jump;
    const before = service.paid.size;
    // No issuer key is pinned for most of these years, so a purchase would throw, too.
    const next = await buyDue(schedule);
    expect(service.paid.size).toBe(before);
    expect(next - clock.now).toBeGreaterThan(0);
    expect(next - clock.now).toBeLessThan(2 * weekMs);
  }
  clock.now = start + weekMs;
  await buyDue(schedule);
  clock.now += weekMs / 2;
  await buyDue(schedule);
  expect(service.paid.size).toBe(8);
  schedule.close();
});

// The interleavings: killed before the secrets are stored; before the request; after the service has signed and before its answer; in the
// transaction of both files. Another process that buys the same lot meanwhile. Each statement fails once, as if the process had died there.
test('killed between any two statements, or beside another process, it pays for a lot once and has its credits', async () => {
  for (let fails = 1, wasKilled = true; wasKilled; fails += 1) {
    rmSync(folder, { recursive: true, force: true });
    service = new Issuer();
    service.lots = 1;
    const [run, read] = [PurseFile.prototype.run, PurseFile.prototype.read];
    let statements = 0;
    wasKilled = false;
    const dying = <T>(work: () => T): T => {
      statements += 1;
      if (statements === fails) {
        wasKilled = true;
        throw new Error('killed');
      }
      return work();
    };
    vi.spyOn(PurseFile.prototype, 'run').mockImplementation(function (this: PurseFile, ...asked) {
      return dying(() => run.apply(this, asked));
    });
    vi.spyOn(PurseFile.prototype, 'read').mockImplementation(function <Row>(
      this: PurseFile,
      ...asked: Parameters<typeof read>
    ) {
      return dying(() => read.apply(this, asked) as Row[]);
    });
    const buys = async (): Promise<void> => {
      const schedule = await begun(0, 0);
      try {
        await buyDue(schedule);
      } finally {
        schedule.close();
      }
    };
    await buys().catch((error: Error) => expect(error.message).toBe('killed'));
    vi.restoreAllMocks();
    const again = () => buys().catch((error: Error) => expect(error.message).toBe('used up'));
    await Promise.all([again(), again()]);
    expect(service.paid.size, `killed at statement ${fails}`).toBe(1);
    expect(await balance(), `killed at statement ${fails}`).toMatchObject({ ready: 0, resting: 50 });
    expect(fails).toBeLessThan(1_000);
  }
}, 120_000);

test('a lost answer is asked for again in the same words, also after the permission was revoked or replaced', async () => {
  const schedule = await begun(0);
  service.trouble = lost;
  await expect(buyDue(schedule)).rejects.toBe(lost);
  service.trouble = undefined;
  // The operator revoked it. The service signs what was paid for.
  service.lots = 0;
  expect(await schedule.buyNext(service, issuer)).toEqual({ left: 0 });
  expect(service.batches[0]).toEqual(service.batches[1]);
  expect(await balance()).toMatchObject({ resting: 50 });
  expect(schedule.hasPermission).toBe(false);
  schedule.begin({ code: 'AAAA-BBBB-CCCC-0001', lotsAWeek: undefined, firstUseDays: 7 });
  service.lots = 9;
  await buyDue(schedule);
  expect(service.paid.size).toBe(5);
  schedule.close();
});

// The interleaving: lot A is paid, and its answer is lost. The machine sleeps for hours, so A waits for a random time of the week. Another
// lot is due before it, and is the last of the code, or is refused because the user has revoked the code or it has expired. A stays the
// client's to collect: nothing else may end while its secrets are there, also when the next answers are lost, too.
test.each(['used up', 'revoked', 'expired'])(
  'a paid lot is collected after another one found the code %s',
  async (how) => {
    // Each lot waits for a random time of its own, the first one longest.
    const waits = [0.9, 0.2, 0.4, 0.5, 0.6].map((share) => Math.floor(share * weekMs));
    const first = await begun(0);
    service.trouble = lost;
    await expect(first.buyNext(service, issuer)).rejects.toBe(lost);
    first.close();
    clock.now += 2 * hour;
    service.trouble = undefined;
    const asleep = await open(() => waits.shift() ?? 0);
    expect(await asleep.buyNext(service, issuer)).toEqual({ next: clock.now + Math.floor(0.2 * weekMs) });
    asleep.close();
    clock.now += Math.floor(0.2 * weekMs);
    const schedule = await open();
    service.lots = how === 'used up' ? 1 : 0;
    if (how === 'used up') expect(await schedule.buyNext(service, issuer)).toEqual({ left: 0 });
    else await expect(schedule.buyNext(service, issuer)).rejects.toThrow('used up');
    expect(schedule.hasPermission).toBe(false);
    service.trouble = lost;
    await expect(schedule.buyNext(service, issuer)).rejects.toBe(lost);
    service.trouble = undefined;
    // The service counts the lots of a code that has expired, but sells none.
    if (how === 'expired') service.lots = 3;
    await schedule.buyNext(service, issuer);
    expect(service.batches.at(-1)).toEqual(service.batches[0]);
    expect([schedule.hasPermission, schedule.isWaiting]).toEqual([false, false]);
    const bought = how === 'used up' ? 2 : 1;
    expect([service.paid.size, (await balance()).resting]).toEqual([bought, 50 * bought]);
    // Nothing is bought without a permission, and the code is gone.
    clock.now += weekMs;
    await schedule.buyNext(service, issuer);
    expect(service.paid.size).toBe(bought);
    schedule.close();
    expect(readFileSync(files().scheduleFile).includes(code)).toBe(false);
  },
);

// The interleaving: a weekly lot is asked for, and its answer is lost, or is still on its way to one process. The user starts another one
// with `--lots-a-week 0`. The lot may be paid for, so its secrets stay. Then the answer arrives, or a refusal: the lot must not come back
// each week. Of two lots, the one whose answer is missing is kept, so that a lower number than before is not exceeded meanwhile.
test.each(['lost', 'late', 'refused'])(
  'a lowered number of lots a week buys no more after an answer that is %s',
  async (how) => {
    const schedule = await begun(2);
    clock.now = await buyDue(schedule);
    const before = service.paid.size;
    const lower = async (lotsAWeek: number): Promise<void> => (await begun(lotsAWeek)).close();
    const refusal = new CreditRefusal({ type: 'insufficient_balance', message: 'too little' }, false);
    if (how === 'late') {
      const sign = service.sign.bind(service);
      vi.spyOn(service, 'sign').mockImplementationOnce(async (...asked) => {
        const answer = await sign(...asked);
        await lower(0);
        return answer;
      });
      await schedule.buyNext(service, issuer);
    } else {
      service.trouble = lost;
      await expect(schedule.buyNext(service, issuer)).rejects.toBe(lost);
      await lower(1);
      await lower(0);
      service.trouble = how === 'refused' ? refusal : undefined;
      if (how === 'refused') await expect(schedule.buyNext(service, issuer)).rejects.toBe(refusal);
      else await schedule.buyNext(service, issuer);
      service.trouble = undefined;
      expect(service.batches.at(-1)).toEqual(service.batches.at(-2));
    }
    for (let week = 0; week < 3; week += 1) {
      await buyDue(schedule);
      clock.now += weekMs;
    }
    // The stand-in counts a lot as paid when its answer is lost.
    expect(service.paid.size).toBe(before + 1);
    expect((await balance()).ready).toBe(how === 'refused' ? 250 : 300);
    schedule.close();
  },
);

test('a refused purchase pays for nothing, and is tried at another time; a revoked permission ends the schedule', async () => {
  const schedule = await begun(1);
  service.lots = 3;
  service.trouble = new CreditRefusal({ type: 'insufficient_balance', message: 'too little' }, false);
  for (let lot = 0; lot < 5; lot += 1) await expect(schedule.buyNext(service, issuer)).rejects.toThrow('too little');
  expect(await buyDue(schedule)).toBe(start + weekMs / 2);
  service.trouble = new CreditRefusal({ type: 'not_found', message: 'switched off' }, false);
  clock.now += weekMs / 2;
  await expect(schedule.buyNext(service, issuer)).rejects.toThrow('switched off');
  expect(schedule.hasPermission).toBe(true);
  service.trouble = undefined;
  service.paid.clear();
  await buyDue(schedule);
  expect([service.paid.size, schedule.hasPermission]).toEqual([3, false]);
  schedule.begin({ code, lotsAWeek: undefined, firstUseDays: 7 });
  await expect(buyDue(schedule)).rejects.toThrow('used up');
  expect(schedule.hasPermission).toBe(false);
  schedule.close();
});

// The interleavings: two requests for one lot are on their way, of two processes or because the first one was given up. One is refused, for
// too little balance. Then money arrives, and the service takes the other one, whose answer comes after the refusal, or never. The refusal
// must not have ended what the other one was blinded with.
test.each(['after the refusal', 'never'])(
  'a lot that one request paid and another did not is collected; the answer comes %s',
  async (when) => {
    const [schedule, other] = [await begun(0), await open()];
    const sign = service.sign.bind(service);
    const isRefused = async (): Promise<void> => {
      service.trouble = new CreditRefusal({ type: 'insufficient_balance', message: 'too little' }, false);
      await expect(other.buyNext(service, issuer)).rejects.toThrow('too little');
      service.trouble = undefined;
    };
    vi.spyOn(service, 'sign').mockImplementationOnce(async (...asked) => {
      await isRefused();
      const answer = await sign(...asked);
      if (when === 'never') throw lost;
      return answer;
    });
    if (when === 'never') await expect(schedule.buyNext(service, issuer)).rejects.toBe(lost);
    else await schedule.buyNext(service, issuer);
    await buyDue(schedule);
    clock.now += weekMs / 2;
    await buyDue(schedule);
    expect([service.paid.size, (await balance()).resting + (await balance()).ready]).toEqual([5, 250]);
    schedule.close();
    other.close();
  },
);

test('a planted issuer key gets nothing: a lot is asked for until the pinned key signs it', async () => {
  const schedule = await begun(0);
  service.signsWith = 1;
  await expect(buyDue(schedule)).rejects.toThrow('did not sign');
  service.signsWith = 0;
  service.signs = 49;
  await expect(buyDue(schedule)).rejects.toThrow('did not sign');
  expect(await balance()).toMatchObject({ resting: 0 });
  service.signs = 50;
  await buyDue(schedule);
  expect(await balance()).toMatchObject({ resting: 250 });
  expect(service.paid.size).toBe(5);
  // The service has no say in which key it is: the client's own date and pins decide.
  const pinned = hash('sha256', spkis[0] ?? Buffer.alloc(0), 'hex');
  expect(service.batches.every(({ body }) => body.key_id === pinned)).toBe(true);
  schedule.close();
  clock.now = Date.parse('2027-01-20T00:00:00Z');
  const later = await begun(1);
  clock.now = await buyDue(later);
  await expect(buyDue(later)).rejects.toThrow('no usable issuer key of 2027');
  later.close();
});

// A thief who works with the operator would look for the code, its hash, and the blinded numbers, each of which the service has seen beside
// the account.
test('a stolen purse does not name the account, also while the answer to a purchase is missing', async () => {
  const schedule = await begun();
  await schedule.buyNext(service, issuer);
  service.trouble = lost;
  await expect(buyDue(schedule)).rejects.toBe(lost);
  const known = [
    code,
    hash('sha256', code, 'base64url'),
    ...service.batches.flatMap(({ body }) => body.blinded as string[]),
  ];
  const purse = readFileSync(files().file);
  const pending = (bytes: Buffer): number =>
    schedulesSecrets.filter((secret) => bytes.includes(Buffer.from(secret).subarray(0, 32))).length;
  const database = await PurseFile.open(files().file, process.getuid?.(), files().scheduleFile);
  const schedulesSecrets = database
    .read<{ secrets: Uint8Array }>('select secrets from schedule.lots where secrets is not null')
    .map(({ secrets }) => secrets);
  database.close();
  expect(schedulesSecrets).toHaveLength(1);
  expect(known.filter((value) => purse.includes(value) || purse.includes(Buffer.from(value, 'base64url')))).toEqual([]);
  expect(pending(purse)).toBe(0);
  // The search finds both in the file that is kept apart.
  const apart = readFileSync(files().scheduleFile);
  expect([apart.includes(code), pending(apart)]).toEqual([true, 1]);
  expect(statSync(files().scheduleFile).mode & 0o777).toBe(0o600);
  service.trouble = undefined;
  clock.now += hour / 2;
  await buyDue(schedule);
  expect(pending(readFileSync(files().scheduleFile))).toBe(0);
  schedule.close();
  // When credits have rested, the purse does not say any more when they were signed.
  clock.now += weekMs;
  await balance();
  const rested = await PurseFile.open(files().file, process.getuid?.());
  expect(rested.read('select distinct ready_at from credits')).toEqual([{ ready_at: 0 }]);
  rested.close();
  chmodSync(files().scheduleFile, 0o640);
  await expect(open()).rejects.toThrow('mode 600');
});
