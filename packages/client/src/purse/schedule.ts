import { randomInt } from 'node:crypto';
import { type CreditIssuer, creditsPerBatch } from '@sotto/wire';
import { addCredits, type BatchSecrets, newBatch, signBatch, type Timing } from './batches.ts';
import { CreditRefusal, type CreditService } from './credit-service.ts';
import type { PurseOptions } from './purse.ts';
import { PurseFile } from './purse-file.ts';
import { firstLots, plannedFor, usualLotsAWeek, weekAfter, withinWeek } from './schedule-times.ts';

export interface ScheduleOptions extends PurseOptions {
  /** The file of the schedule. */
  readonly scheduleFile: string;
}

interface Standing {
  /** The permission to withdraw lots. Null: it has ended, and no answer is missing. */
  readonly code: string | null;
  /** 1: the permission is used up or was refused. */
  readonly has_ended: number;
  readonly first_use_at: number;
}

interface Lot {
  readonly id: number;
  readonly at: number;
  /**
   * `first`: one of the first lots, which is bought once. `weekly`: bought once in each week. `surplus`: the user lowered the number of lots
   * a week while the answer to this one was missing, so it is asked for, and never bought again.
   */
  readonly kind: 'first' | 'weekly' | 'surplus';
  /** Null: the service was not asked for it. */
  readonly secrets: Uint8Array | null;
  readonly spki: string | null;
  /** 1: the last request for it was refused. Its secrets stay: another request for it may still be on its way, and be paid. */
  readonly was_refused: number;
}

/** Lots whose answer is missing: they may be paid for. */
const isWaiting = 'secrets is not null and was_refused = 0';

/** The refusals that say that a batch was not paid for. */
const isJudgement = /^(forbidden|insufficient_balance|top_up_limit|invalid_request)$/;

/**
 * Buys lots at times that use has no say in. Its file has the permission to withdraw from an account, the times, and the secrets of purchases
 * whose answer is missing. Each of them could name the account, so they are not in the purse. One transaction of both files moves credits
 * to the purse and forgets what they were blinded with.
 */
export class Schedule {
  readonly #file: PurseFile;
  readonly #timing: Timing;

  private constructor(file: PurseFile, timing: Timing) {
    this.#file = file;
    this.#timing = timing;
  }

  static async open(options: ScheduleOptions): Promise<Schedule> {
    const { file, scheduleFile, userId, now = Date.now, random = randomInt } = options;
    return new Schedule(await PurseFile.open(file, userId, scheduleFile), { now, random });
  }

  close(): void {
    this.#file.close();
  }

  get hasPermission(): boolean {
    const standing = this.#standing;
    return typeof standing?.code === 'string' && standing.has_ended === 0;
  }

  /** Whether the answer to a purchase is missing. The service signs what was paid for, also after the permission has ended. */
  get isWaiting(): boolean {
    return this.#file.read(`select id from lots where ${isWaiting} limit 1`).length > 0;
  }

  /**
   * Begins the schedule, or goes on with the one that is there. Undefined leaves the code and the number as they are. `firstUseDays` are the
   * most days until the first use. Returns the number of lots a week.
   */
  begin(asked: { code: string | undefined; lotsAWeek: number | undefined; firstUseDays: number }): number {
    const { now, random } = this.#timing;
    return this.#file.change(() => {
      const isNew = this.#standing === undefined;
      if (isNew) {
        const mostMs = asked.firstUseDays * 86_400_000;
        this.#file.run('insert into standing (first_use_at) values (?)', now() + random(0, Math.max(1, mostMs)));
        for (let lot = 0; lot < firstLots; lot += 1)
          this.#file.run("insert into lots (at, kind) values (?, 'first')", now());
      }
      if (asked.code !== undefined) this.#file.run('update standing set code = ?, has_ended = 0', asked.code);
      const weekly = this.#file.read<Lot>(`select * from lots where kind = 'weekly' order by ${isWaiting} desc, id`);
      const lotsAWeek = asked.lotsAWeek ?? (isNew ? usualLotsAWeek : weekly.length);
      for (const { id } of weekly.slice(lotsAWeek)) this.#file.run("update lots set kind = 'surplus' where id = ?", id);
      this.#file.run(`delete from lots where kind = 'surplus' and not (${isWaiting})`);
      for (let lot = weekly.length; lot < lotsAWeek; lot += 1)
        this.#file.run("insert into lots (at, kind) values (?, 'weekly')", weekAfter(now(), random));
      return lotsAWeek;
    });
  }

  /**
   * Buys the next lot if it is due. Resolves to the number of lots that the permission has left, or to the time in Unix ms until which
   * nothing is due. Throws if the purchase failed or was refused. After a refusal it is tried at another time.
   */
  async buyNext(service: CreditService, issuer: CreditIssuer): Promise<{ left: number } | { next: number }> {
    const due = this.#file.change(() => this.#takeDue(issuer));
    if (typeof due === 'number') return { next: due };
    const payment = { path: '/v1/credits', proof: { code: due.code }, atLeast: creditsPerBatch } as const;
    try {
      const { credits, lots: left = 0 } = await signBatch(service, issuer, { ...due, ...payment });
      this.#file.change(() => {
        // Another process may have stored these credits, and they may be spent by now.
        if (!this.#end(due)) return;
        addCredits(this.#file, credits, this.#timing, this.#standing?.first_use_at);
        if (left === 0) this.#endPermission(due.code);
        this.#forgetCode();
      });
      return { left };
    } catch (error) {
      if (!(error instanceof CreditRefusal) || error.isPassing || !isJudgement.test(error.type)) throw error;
      // Nothing was paid: a batch that was paid for is signed again, whatever became of the permission.
      this.#file.change(() => {
        this.#end(due, error);
        if (error.type === 'forbidden') this.#endPermission(due.code);
        this.#forgetCode();
      });
      throw error;
    }
  }

  /** Returns the lot that is due, with stored secrets, or the time of the next one. */
  #takeDue(issuer: CreditIssuer): (Lot & BatchSecrets & { readonly code: string }) | number {
    const now = this.#timing.now();
    for (const { id, at } of this.#file.read<Lot>('select * from lots')) {
      const planned = plannedFor(at, now, this.#timing.random);
      if (planned !== at) this.#file.run('update lots set at = ? where id = ?', planned, id);
    }
    const { code, has_ended = 1 } = this.#standing ?? {};
    const [next] = this.#file.read<Lot>(
      `select * from lots where ${isWaiting} or ? = 0 order by at, id limit 1`,
      has_ended,
    );
    if (next === undefined || typeof code !== 'string' || next.at > now) return next?.at ?? now;
    const { secrets, spki } = next;
    if (secrets !== null && spki !== null && next.was_refused === 0) return { ...next, code, secrets, spki };
    const made = newBatch(issuer, now);
    // The service sells no new batch of a key of another year.
    const batch = secrets !== null && spki === made.spki ? { secrets, spki } : made;
    this.#file.run(
      'update lots set secrets = ?, spki = ?, was_refused = 0 where id = ?',
      ...[batch.secrets, batch.spki, next.id],
    );
    return { ...next, code, ...batch };
  }

  /** Plans the next purchase of a lot, if there is to be one, and forgets its secrets if it was bought. Returns false if another process has. */
  #end({ id, at, secrets }: Lot, refusal?: CreditRefusal): boolean {
    const { now, random } = this.#timing;
    // Read again: the user may have lowered the number of lots a week since the request left.
    const [stored] = this.#file.read<Lot>('select * from lots where id = ? and secrets = ?', id, secrets);
    if (stored === undefined) return false;
    const next = {
      first: refusal && withinWeek(now(), random),
      weekly: weekAfter(at, random),
      surplus: undefined,
    }[stored.kind];
    if (next === undefined) this.#file.run('delete from lots where id = ?', id);
    else if (refusal !== undefined && refusal.type !== 'invalid_request')
      this.#file.run('update lots set at = ?, was_refused = 1 where id = ?', next, id);
    else
      this.#file.run(
        'update lots set at = ?, secrets = null, spki = null, was_refused = 0 where id = ?',
        ...[next, id],
      );
    return true;
  }

  /** Ends the permission, unless the user has replaced it. Lots whose answer is missing are asked for now, when the service sees us anyway. */
  #endPermission(code: string): void {
    if (this.#file.run('update standing set has_ended = 1 where code = ?', code) === 1)
      this.#file.run(`update lots set at = ? where ${isWaiting}`, this.#timing.now());
  }

  /** Forgets the code of a permission that has ended, when no lot waits for its answer: each such lot may be paid for. */
  #forgetCode(): void {
    if (!this.isWaiting) this.#file.run('update standing set code = null where has_ended = 1');
  }

  get #standing(): Standing | undefined {
    return this.#file.read<Standing>('select * from standing')[0];
  }
}
