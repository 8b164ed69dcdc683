import { type Column, sql, type Table } from 'drizzle-orm';
import { bigint, timestamp } from 'drizzle-orm/pg-core';

export const instant = <Name extends string>(name: Name) => timestamp(name, { withTimezone: true, mode: 'date' });
export const createdAt = () => instant('created_at').notNull().default(sql`now()`);
export const nusd = <Name extends string>(name: Name) => bigint(name, { mode: 'bigint' });

type Columns<T extends Table> = T['_']['columns'][keyof T['_']['columns']];
type Value<C extends Column> =
  | (C['_']['columnType'] extends 'PgBigInt53' | 'PgBigInt64' ? string : C['_']['data'])
  | (C['_']['notNull'] extends true ? never : null);

/** A row of a table, or some of its columns, as node-postgres returns it: with SQL names, and a bigint as a string. */
export type SqlRow<T extends Table, Name extends Columns<T>['_']['name'] = Columns<T>['_']['name']> = {
  [C in Columns<T> as Extract<C['_']['name'], Name>]: Value<C>;
};
