import { closeSync, fstatSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { PurseError } from './credit-service.ts';

export interface PurseWallet {
  readonly id: number;
  /** An inference key, made here. */
  readonly key: string;
}

export interface StoredWallet extends PurseWallet {
  readonly close_secret: string;
  readonly state: 'ordered' | 'paid' | 'taken' | 'offered' | 'open';
  readonly pid: number;
  /** Null: credits pay for it. */
  readonly package_id: string | null;
  readonly ends_at: number | null;
}

export interface StoredBatch {
  readonly id: number;
  readonly secrets: Uint8Array;
  readonly spki: string;
  readonly paid_by: 'code' | 'close';
  readonly secret: string;
  readonly wallet: number | null;
}

const firstTables = `
  create table batches (id integer primary key, secrets blob not null, spki text not null, paid_by text not null,
    secret text not null unique, wallet integer);
  create table credits (nonce blob primary key, token blob not null, key_id text not null, ready_at integer not null,
    wallet integer, aside integer not null default 0) without rowid;
  create table wallets (id integer primary key, key text not null, close_secret text not null, state text not null,
    pid integer not null);
  pragma user_version = 1;`;
/** Wallets that a payment makes: the package, and when the order ends that says where to pay. */
const orderColumns = `
  alter table wallets add column package_id text;
  alter table wallets add column ends_at integer;
  pragma user_version = 2;`;

/** The SQLite file of a purse, which only its owner can read. */
export class PurseFile {
  readonly #db: DatabaseSync;

  private constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /**
   * Opens the file, or makes an empty one. Refuses a file that other users can read or change.
   *
   * @param userId - The user id of the process; undefined on Windows.
   */
  static async open(file: string, userId: number | undefined): Promise<PurseFile> {
    // Imported here, because Node before 24 warns about it, and other commands do not need it.
    const { DatabaseSync } = await import('node:sqlite');
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const descriptor = openSync(file, 'a+', 0o600);
    const { mode, uid } = fstatSync(descriptor);
    closeSync(descriptor);
    if (userId !== undefined && (uid !== userId || (mode & 0o077) !== 0))
      throw new PurseError(`${file} must be your own file, of mode 600, because whoever reads it has your money.`);
    const db = new DatabaseSync(file);
    // SQLite overwrites deleted rows, also in the journal.
    db.exec(
      'pragma busy_timeout = 10000; pragma journal_mode = delete; pragma secure_delete = on; pragma synchronous = full',
    );
    const opened = new PurseFile(db);
    opened.change(() => {
      const version = opened.read<{ user_version: number }>('pragma user_version')[0]?.user_version ?? 0;
      if (version < 1) db.exec(firstTables);
      if (version < 2) db.exec(orderColumns);
    });
    return opened;
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
