import { maxScimPage, type ScimListQuery, scimUrns } from '@sotto/contract/control/scim';
import type pg from 'pg';
import { readFilter } from './scim-path.ts';

/** How a filter compares an attribute: SQL with the value as `$1`, by the attribute's name in lower case. */
export type Comparisons = Readonly<Record<string, string>>;

interface List<Row, Resource> {
  /** The columns and the tables, without a condition. */
  readonly select: string;
  /** The table and its alias, to count. */
  readonly from: string;
  readonly alias: string;
  readonly comparisons: Comparisons;
  readonly toResource: (row: Row) => Resource;
}

/** Reads a page of resources (RFC 7644, 3.4.2), oldest first. */
export async function readPage<Row extends pg.QueryResultRow, Resource>(
  pool: pg.Pool,
  { filter, startIndex: given, count }: ScimListQuery,
  { select, from, alias, comparisons, toResource }: List<Row, Resource>,
) {
  const compared = filter === undefined ? undefined : readFilter(filter, new Set(Object.keys(comparisons)));
  const condition = compared === undefined ? '' : `where ${comparisons[compared.attribute]}`;
  const values = compared === undefined ? [] : [String(compared.value)];
  const startIndex = Math.max(1, given);
  const { rows: counted } = await pool.query<{ total: string }>(
    `select count(*) as total from ${from} ${condition}`,
    values,
  );
  const bound = [...values, Math.min(maxScimPage, Math.max(0, count)), startIndex - 1];
  const { rows } = await pool.query<Row>(
    `${select} ${condition} order by ${alias}.created_at, ${alias}.id limit $${bound.length - 1} offset $${bound.length}`,
    bound,
  );
  return {
    schemas: [scimUrns.list] as [typeof scimUrns.list],
    totalResults: Number(counted[0]?.total ?? 0),
    startIndex,
    itemsPerPage: rows.length,
    Resources: rows.map(toResource),
  };
}
