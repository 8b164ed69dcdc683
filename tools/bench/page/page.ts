import { figure, type Promised, type Report, type Table } from './report.ts';

/** A part's report, and where it was measured. */
export interface KeptReport {
  readonly part: string;
  readonly machine: string;
  readonly report: Report;
}

/** `docs/PERFORMANCE.md` from what every part found last. */
export function writePage(kept: readonly KeptReport[]): string {
  const promises = kept.flatMap(({ report }) => report.promises);
  return [
    '# Performance',
    '',
    'What the broker adds to a request, measured beside what it is compared with. Written by `npm run bench`: do not edit. `npm run bench -- NAME` measures one part anew (`' +
      kept.map(({ part }) => part).join('`, `') +
      '`) and writes this page again; `--quick` measures roughly and writes nothing.',
    '',
    'Figures are CPU time of the process that is measured (all its threads, from `/proc`), taken in turns with everything it is compared with, each on the same core; the load, the provider, Redis and Postgres have the others (under `overload`, all of them). Medians of the rounds. Absolute figures are of the machine named; ratios travel better.',
    '',
    '## What was promised',
    '',
    table({ caption: '', head: ['', 'at most', 'measured', ''], rows: promises.map(promiseRow) }),
    ...kept.flatMap(section),
  ].join('\n');
}

const promiseRow = ({ what, atMost, measured, unit }: Promised): string[] => [
  what,
  `${atMost} ${unit}`,
  `${figure(measured, measured < 10 ? 2 : 0)} ${unit}`,
  measured <= atMost ? 'holds' : '**does not hold**',
];

const section = ({ machine, report }: KeptReport): string[] => [
  '',
  `## ${report.title}`,
  '',
  report.method,
  '',
  `Measured on ${machine}.`,
  ...report.tables.flatMap((one) => ['', table(one)]),
  ...(report.plots ?? []).flatMap(({ name, title }) => ['', `![${title}](images/performance-${name}.svg)`]),
  '',
];

const table = ({ caption, head, rows }: Table): string =>
  [
    ...(caption === '' ? [] : [`${caption}:`, '']),
    `| ${head.join(' | ')} |`,
    `|---|${head
      .slice(1)
      .map(() => '---:|')
      .join('')}`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ].join('\n');
