import { closeSync, fstatSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { getSystemErrorMap } from 'node:util';
import { PurseError } from './credit-service.ts';

export interface PurseWallet {
  readonly id: number;
  /** An inference key, made here. */
  readonly key: string;
}

export interface StoredWallet extends PurseWallet {
  readonly close_secret: string;
  readonly state: 'ordered' | 'paid' | 'taken' | 'offered' | 'open';
  /** The purse that uses it. Null: none. */
  readonly holder: string | null;
  /** Unix ms. When the lease of the holder runs out, or has ended. */
  readonly lease_until: number;
  /** Null: credits pay for it. */
  readonly package_id: string | null;
  readonly ends_at: number | null;
}

const tables = {
  main: `
    create table if not exists batches (wallet integer primary key, secrets blob not null, spki text not null);
    create table if not exists credits (nonce blob primary key, token blob not null, key_id text not null,
      year integer not null, ready_at integer not null, wallet integer, aside integer not null default 0) without rowid;
    create table if not exists wallets (id integer primary key, key text not null, close_secret text not null,
      state text not null, package_id text, ends_at integer, holder text, lease_until integer not null);`,
  schedule: `
    create table if not exists schedule.standing (code text, has_ended integer not null default 0,
      first_use_at integer not null);
    create table if not exists schedule.lots (id integer primary key, at integer not null, kind text not null,
      secrets blob, spki text, was_refused integer not null default 0);`,
};

/** The names of the tables, sorted. */
const tableNames = { main: 'batches credits wallets', schedule: 'lots standing' };

/** The SQLite file of a purse, which only its owner can read. */
export class PurseFile {
  readonly #db: DatabaseSync;

  private constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /**
   * Opens the file, or makes an empty one, and that of the schedule if one is named. Refuses a file that other users can read or change, and
   * another program's, which it does not change.
   *
   * @param userId - The user id of the process; undefined on Windows.
   */
  static async open(file: string, userId: number | undefined, scheduleFile?: string): Promise<PurseFile> {
    // Imported here, because Node before 24 warns about it, and other commands do not need it.
    const { DatabaseSync } = await import('node:sqlite');
    const schedule = scheduleFile === undefined ? [] : [['schedule', scheduleFile] as const];
    const files = [['main', file] as const, ...schedule];
    for (const [, each] of files) usingFile(each, () => makeOwn(each, userId));
    const opened = new PurseFile(usingFile(file, () => new DatabaseSync(file)));
    opened.#db.exec('pragma busy_timeout = 10000');
    for (const [name, each] of files) usingFile(each, () => opened.#prepare(name, each));
    return opened;
  }

  #prepare(name: keyof typeof tables, file: string): void {
    if (name === 'schedule') this.run('attach database ? as schedule', file);
    const found = this.read<{ name: string }>(
      `select name from ${name}.sqlite_schema where type = 'table' order by name`,
    );
    // The next statement could write to another program's file. One transaction makes all tables, so another process never shows a part of them.
    if (found.length > 0 && found.map((table) => table.name).join(' ') !== tableNames[name])
      throw new PurseError(`${file} is not a ${name === 'main' ? 'purse' : name}.`);
    // SQLite overwrites deleted rows in the file. It also deletes its journal, whose blocks stay on the disk until something else needs them.
    // A transaction of both files needs journals that are files.
    this.#db.exec(
      `pragma ${name}.journal_mode = delete; pragma ${name}.secure_delete = on; pragma ${name}.synchronous = full`,
    );
    this.change(() => this.#db.exec(tables[name]));
  }

  close(): void {
    this.#db.close();
  }

  /** Runs changes in one transaction that no other process interrupts. */
  change<T>(work: () => T): T {
    this.#db.exec('begin immediate');
    try {
      const result = work();
      this.#db.exec('commit');
      return result;
    } catch (error) {
      this.#db.exec('rollback');
      throw error;
    }
  }

  read<Row>(sql: string, ...values: readonly (string | number | null | Uint8Array)[]): Row[] {
    return this.#db.prepare(sql).all(...values) as Row[];
  }

  run(sql: string, ...values: readonly (string | number | null | Uint8Array)[]): number | bigint {
    return this.#db.prepare(sql).run(...values).changes;
  }
}

/** Makes an empty file of mode 600 if there is none. Throws if another user could read or change what is there. */
function makeOwn(file: string, userId: number | undefined): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const descriptor = openSync(file, 'a+', 0o600);
  const { mode, uid } = fstatSync(descriptor);
  closeSync(descriptor);
  if (userId !== undefined && (uid !== userId || (mode & 0o077) !== 0))
    throw new PurseError(`${file} must be your own file, of mode 600, because whoever reads it has your money.`);
}

/** Uses a file. Throws a `PurseError` with the reason if the system or SQLite refuses it. */
export function usingFile<T>(file: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    const { errno, errcode, path = file, message } = error as NodeJS.ErrnoException & { readonly errcode?: number };
    if (errno === undefined && errcode === undefined) throw error;
    const reason = getSystemErrorMap().get(errno ?? 0)?.[1] ?? message;
    throw new PurseError(`${path} cannot be used: ${reason}.`, { cause: error });
  }
}
