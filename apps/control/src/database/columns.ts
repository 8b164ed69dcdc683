import { type Column, sql, type Table } from 'drizzle-orm';
import { bigint, boolean, integer, text, timestamp } from 'drizzle-orm/pg-core';

export const instant = <Name extends string>(name: Name) => timestamp(name, { withTimezone: true, mode: 'date' });
export const createdAt = () => instant('created_at').notNull().default(sql`now()`);
export const nusd = <Name extends string>(name: Name) => bigint(name, { mode: 'bigint' });

/** The fields of a key, by their names in the API, that an admin set on another's key. Only admins change them. */
export const lockedFields = () => text('locked_fields').array().notNull().default(sql`'{}'`);

/** The policy of a workspace, which bounds the rules of all its keys (`held-rules.ts`). */
export const policyColumns = () => ({
  /** The models that requests may name, as patterns. Null: all. */
  policyModels: text('policy_models').array(),
  /** The largest credit limit of a key. Null: a key needs none. */
  policyKeyLimitNusd: nusd('policy_key_limit_nusd'),
  /** The days after its creation until which a key may work. Null: it need not expire. */
  policyKeyDays: integer('policy_key_days'),
  /** Whether keys may be sent to the confidential origin. */
  policyCompatible: boolean('policy_compatible').notNull().default(true),
});

type Columns<T extends Table> = T['_']['columns'][keyof T['_']['columns']];
type Value<C extends Column> =
  | (C['_']['columnType'] extends 'PgBigInt53' | 'PgBigInt64' ? string : C['_']['data'])
  | (C['_']['notNull'] extends true ? never : null);

/** A row of a table, or some of its columns, as node-postgres returns it: with SQL names, and a bigint as a string. */
export type SqlRow<T extends Table, Name extends Columns<T>['_']['name'] = Columns<T>['_']['name']> = {
  [C in Columns<T> as Extract<C['_']['name'], Name>]: Value<C>;
};
