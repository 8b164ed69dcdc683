import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startStandby } from '../../../kit/postgres.ts';
import type { Rig } from '../rig.ts';
import { both, type Fault, refused, served } from './fault.ts';

const outcomes = { compatibility: served, ticket: refused };

/** The connections that a fault holds open. */
const others = new WeakMap<Rig, pg.Client[]>();

async function exhaust(rig: Rig): Promise<void> {
  const clients = others.get(rig) ?? [];
  others.set(rig, clients);
  for (;;) {
    const client = new pg.Client(rig.postgres.url);
    client.on('error', () => {});
    try {
      await client.connect();
    } catch {
      return;
    }
    clients.push(client);
  }
}

async function letGo(rig: Rig): Promise<void> {
  const clients = others.get(rig) ?? [];
  others.delete(rig);
  await Promise.all(clients.map((client) => client.end().catch(() => {})));
}

export const postgresFaults: readonly Fault[] = [
  {
    name: 'Postgres has no connection left for control',
    to: 'postgres',
    lastsMs: 2500,
    async begin(rig) {
      await exhaust(rig);
      rig.lines.controlToPostgres.cut();
      // Takes the connections that control may have reopened in between.
      await exhaust(rig);
    },
    end: letGo,
    outcomes,
  },
  {
    name: 'Postgres has no disk left',
    to: 'postgres',
    lastsMs: 3000,
    begin: async ({ postgresDisk }) => postgresDisk?.fill(),
    async end({ postgresDisk, postgres }) {
      await postgresDisk?.free();
      await postgres.restart();
    },
    outcomes,
    missing: ({ postgresDisk }) =>
      postgresDisk === undefined ? 'run as root where file systems may be mounted' : undefined,
  },
  {
    name: 'Postgres takes no writes',
    to: 'postgres',
    lastsMs: 2500,
    begin: (rig) => execute(rig, 'alter system set default_transaction_read_only = on'),
    end: (rig) => execute(rig, 'alter system reset default_transaction_read_only'),
    outcomes,
  },
  {
    name: 'Postgres fails over to a standby, which can only be read at first',
    to: 'postgres',
    lastsMs: 0,
    async begin(rig) {
      const primary = rig.postgres;
      const standby = await startStandby(primary, rig.postgresDisk?.folder);
      await primary.kill9();
      rig.movePostgres(standby);
      await sleep(1500);
      await standby.promote();
    },
    end: async () => {},
    outcomes,
  },
  {
    name: 'Postgres is locked: every booking waits',
    to: 'postgres',
    lastsMs: 3000,
    async begin(rig) {
      const client = new pg.Client(rig.service.pool.options.connectionString ?? '');
      client.on('error', () => {});
      others.set(rig, [client]);
      await client.connect();
      await client.query('begin');
      await client.query('lock table settlements in access exclusive mode');
    },
    end: letGo,
    ...both(...served),
  },
];

/** Executes a statement and reloads the settings, so that every session sees them. */
async function execute(rig: Rig, statement: string): Promise<void> {
  const client = new pg.Client(rig.postgres.url);
  await client.connect();
  try {
    await client.query(statement);
    await client.query('select pg_reload_conf()');
  } finally {
    await client.end();
  }
}
