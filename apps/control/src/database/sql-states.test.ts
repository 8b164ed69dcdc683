import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import pg from 'pg';
import { expect, it } from 'vitest';
import { causeOf } from './sql-states.ts';

it.each([
  [{ code: '53100' }, '53100 disk_full'],
  [{ cause: Object.assign(new Error('inner'), { code: '28P01' }) }, '28P01 invalid_password'],
  [{ code: 'ECONNREFUSED' }, 'ECONNREFUSED'],
  [{ code: '99Z99' }, '99Z99'],
  [{ code: 'a secret of somebody' }, undefined],
  [{}, undefined],
])('names the cause of an error with %j', (fields, cause) => {
  expect(causeOf(Object.assign(new Error('a row'), fields))).toBe(cause);
});

it('names a server that accepts connections and says nothing', async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `postgresql://u@127.0.0.1:${port}/d`;
  const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: 50, max: 1 });
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 50 });
  client.on('error', () => {});
  const failures = await Promise.allSettled([pool.query('select 1'), pool.query('select 1'), client.connect()]);
  expect(failures.map((failure) => failure.status === 'rejected' && causeOf(failure.reason))).toEqual([
    'connection_timeout',
    'connection_timeout',
    'connection_timeout',
  ]);
  await pool.end();
  server.close();
});
