import { hash } from 'node:crypto';
import type pg from 'pg';

/** A statement that each connection parses and plans once, for those that run with every request. */
export type Prepared = <Row extends pg.QueryResultRow>(
  client: pg.ClientBase | Pick<pg.Pool, 'query'>,
  values: unknown[],
) => Promise<pg.QueryResult<Row>>;

export function prepared(text: string): Prepared {
  const name = `sotto_${hash('sha256', text, 'base64url').slice(0, 16)}`;
  return (client, values) => client.query({ name, text, values });
}
