import type { RailName } from '@sotto/wire';
import type pg from 'pg';
import type { CustomerBook } from './stripe-rail.ts';

/** Who accounts are at a rail, kept in Postgres. */
export const railCustomers = (pool: pg.Pool, rail: RailName): CustomerBook => {
  const find = async (accountId: string): Promise<string | undefined> => {
    const { rows } = await pool.query<{ customer: string }>(
      'select customer from rail_customers where account_id = $1 and rail = $2',
      [accountId, rail],
    );
    return rows[0]?.customer;
  };
  return {
    find,
    async keep(accountId, customer) {
      await pool.query(
        'insert into rail_customers (account_id, rail, customer) values ($1, $2, $3) on conflict do nothing',
        [accountId, rail, customer],
      );
      return (await find(accountId)) ?? customer;
    },
  };
};
