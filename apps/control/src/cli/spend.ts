import { nusdToUsd, usdToNusd } from '@sotto/money';
import { monthAfter, monthOf, monthPattern } from '@sotto/state';
import { oneLine } from '../mail/mail.ts';
import { type ExportedSpend, exportSpend, spendColumns } from '../operator/spend-store.ts';
import { csvText } from '../serve/csv.ts';
import type { DayRange } from '../usage/day-range.ts';
import { type CliProcess, type Option, printList, UsageError, withDatabase } from './cli-process.ts';

const dayMs = 86_400_000;

/** Prints what each person used in each month and workspace, and who paid: as lines, as CSV, or as JSON with the fields of the API. */
export async function spend(
  context: CliProcess,
  { from, to, format }: Readonly<Record<string, Option>>,
): Promise<void> {
  if (format !== undefined && format !== 'csv' && format !== 'json')
    throw new UsageError(`--format is "${format}"; it takes csv or json`);
  const days = monthRange({ from, to }, Date.now());
  await withDatabase(context, async (pool) => {
    const pages = exportSpend(pool, { days });
    if (format === 'csv') {
      // A line break ends each record already.
      const text = csvText({ columns: spendColumns, pages });
      return printList(context, text, (records) => records.replace(/\n$/, ''));
    }
    if (format === 'json') return context.out(JSON.stringify(await answerOf(pages), null, 2));
    return printList(context, rowsOf(pages), lineOf);
  });
}

/** Reads months, both inclusive. The default is the present one. */
function monthRange({ from, to }: { readonly from: Option; readonly to: Option }, now: number): DayRange {
  const present = monthOf(now);
  const first = readMonth('from', from) ?? readMonth('to', to) ?? present;
  const last = readMonth('to', to) ?? present;
  if (first > last) throw new UsageError(`--from is ${first}, which is later than --to, ${last}`);
  const dayOf = (month: string): number => Date.parse(`${month}-01T00:00:00Z`) / dayMs;
  return { from: dayOf(first), to: dayOf(monthAfter(last)) };
}

function readMonth(option: string, given: Option): string | undefined {
  if (given === undefined) return undefined;
  // Postgres and `Date` both write these years with four digits.
  if (typeof given === 'string' && monthPattern.test(given) && given >= '1970-01' && given < '9999-12') return given;
  throw new UsageError(`--${option} is "${given}"; it takes a month such as 2026-11`);
}

async function* rowsOf(pages: AsyncIterable<readonly ExportedSpend[]>): AsyncGenerator<ExportedSpend> {
  for await (const page of pages) yield* page;
}

async function answerOf(pages: AsyncIterable<readonly ExportedSpend[]>) {
  const rows: ExportedSpend[] = [];
  for await (const page of pages) rows.push(...page);
  const costs = rows.map(({ cost }) => usdToNusd(Number(cost)) ?? 0n);
  return {
    data: rows.map((row) => ({ ...row, cost: Number(row.cost) })),
    total: {
      requests: rows.reduce((sum, { requests }) => sum + requests, 0),
      cost: nusdToUsd(costs.reduce((sum, cost) => sum + cost, 0n)),
    },
  };
}

function lineOf(row: ExportedSpend): string {
  const member = row.member_email ?? row.member_id;
  const workspace = `in workspace ${row.workspace_id} "${oneLine(row.workspace_name)}"`;
  const requests = `${row.requests} ${row.requests === 1 ? 'request' : 'requests'}`;
  return `${row.month}  ${row.cost} USD  ${requests}  by ${member}  ${workspace}  paid by ${row.payer_email ?? row.payer_id}`;
}
