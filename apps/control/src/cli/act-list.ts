import type { ActAnswer } from '@sotto/contract/control/audit';
import { operatorActQuerySchema } from '@sotto/contract/control/operator';
import { type ActFilters, readActs } from '../audit-log/read-acts.ts';
import { oneLine } from '../mail/mail.ts';
import { pagesOf } from '../serve/page-cursor.ts';
import { type CliProcess, type Option, printList, UsageError, withDatabase } from './cli-process.ts';

/** The options that filter, by the fields of the query of the API, and what each takes. */
const filters = {
  search: { field: 'search', takes: 'a part of an address, or the id of an account' },
  act: { field: 'act', takes: 'a comma list of acts such as key_created,key_revoked' },
  actor: { field: 'actor', takes: 'account, operator, command_line, identity_provider or app' },
  workspace: { field: 'workspace_id', takes: 'the id of a workspace' },
  from: { field: 'from', takes: 'a date such as 2026-11-21 or an instant such as 2026-11-21T08:00:00Z' },
  to: { field: 'to', takes: 'a date or an instant later than --from' },
} as const;

/** Prints the audit log, newest first. */
export async function actList(context: CliProcess, values: Readonly<Record<string, Option>>): Promise<void> {
  const asked = readFilters(values);
  const most = readLimit(values.limit);
  await withDatabase(context, async (pool) => {
    const pages = pagesOf((cursor) => readActs(pool, { kind: 'operator' }, { ...asked, limit: 100, cursor }));
    await printList(context, atMost(pages, most), lineOf);
  });
}

function readFilters(values: Readonly<Record<string, Option>>): ActFilters {
  const given = Object.entries(filters).filter(([option]) => values[option] !== undefined);
  const query = Object.fromEntries(given.map(([option, { field }]) => [field, values[option]]));
  const read = operatorActQuerySchema.safeParse(query);
  if (read.success) {
    const { cursor: _cursor, limit: _limit, format: _format, ...asked } = read.data;
    return asked;
  }
  const [wrong] = read.error.issues;
  const [option = '', row] = given.find(([, { field }]) => field === wrong?.path[0]) ?? [];
  throw new UsageError(`--${option} is "${values[option]}"; it takes ${row?.takes}`);
}

function readLimit(limit: Option): number {
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  if (typeof limit === 'string' && /^[1-9]\d{0,8}$/.test(limit)) return Number(limit);
  throw new UsageError(`--limit is "${limit}"; it takes a number of acts above 0`);
}

async function* atMost<Entry>(entries: AsyncIterable<Entry>, most: number): AsyncGenerator<Entry> {
  let left = most;
  for await (const entry of entries) {
    yield entry;
    left -= 1;
    if (left <= 0) return;
  }
}

function lineOf(act: ActAnswer): string {
  const { at, actor, actor_account_id, account_id, workspace_id, workspace_name, invited_email, details } = act;
  const by = actor_account_id === null ? actor : `${actor} ${act.actor_email ?? actor_account_id}`;
  const on = [
    account_id && `account ${act.account_email ?? account_id}`,
    workspace_id && `workspace ${workspace_id}${workspace_name === null ? '' : ` "${oneLine(workspace_name)}"`}`,
    invited_email && `invited ${invited_email}`,
  ].filter(Boolean);
  return [at, act.act, `by ${by}`, ...on, JSON.stringify(details)].join('  ');
}
