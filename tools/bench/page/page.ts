import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { figure, type Plot, type Promised, type Report, type Table } from './report.ts';

/** A part's report, and the machine that measured it. */
interface Result {
  readonly machine: string;
  readonly report: Report;
}

export interface KeptReport extends Result {
  readonly part: string;
}

/** Builds `docs/PERFORMANCE.md` from the latest results of all parts. */
export function writePage(kept: readonly KeptReport[]): string {
  const common = kept[0]?.machine ?? '';
  const promises = kept.flatMap(({ report }) => report.promises);
  return [
    '# Performance',
    '',
    'This page shows what the broker adds to a request, compared with other gateways. `npm run bench` writes it: do not edit it. `npm run bench -- NAME` measures one part again.',
    '',
    `Measured on ${common} unless a part names another machine. CPU figures are the CPU time of all threads of the measured process, from \`/proc\`. All contenders take turns on the same core. The load, the provider, Redis and Postgres use the other cores (for \`overload\`, all cores). Figures are medians of the rounds.`,
    '',
    '## Targets',
    '',
    table({ caption: '', head: ['', 'target (at most)', 'measured', ''], rows: promises.map(promiseRow) }),
    '',
    ...promises.flatMap(({ what, because }) => (because === undefined ? [] : [`- *${what}*: ${because}`])),
    ...kept.flatMap((each) => section(each, common)),
  ].join('\n');
}

const promiseRow = ({ what, atMost, measured, unit }: Promised): string[] => [
  what,
  `${atMost} ${unit}`,
  `${figure(measured, measured < 10 ? 2 : 0)} ${unit}`,
  measured <= atMost ? 'met' : '**missed**',
];

const section = ({ machine, report }: KeptReport, common: string): string[] => [
  '',
  `## ${report.title}`,
  '',
  report.method,
  ...(machine === common ? [] : ['', `Measured on ${machine}.`]),
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

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const file = at('../results.json');
/** Reads the latest results, by part. */
const readResults = (): Readonly<Record<string, Result>> => JSON.parse(readFileSync(file, 'utf8'));

const machine = (): string => {
  const [first] = cpus();
  return `Node ${process.version.slice(1)}, ${cpus().length} × ${first?.model.trim() ?? 'CPU'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}`;
};

/** Stores the result of a part, which `writeKept` renders. */
export function keepReport(part: string, report: Report): void {
  const own: Result = { machine: machine(), report };
  writeFileSync(file, `${JSON.stringify({ ...readResults(), [part]: own }, undefined, 2)}\n`);
}

/** Writes the page and its pictures from all stored results. `parts` are in the order of the page. */
export function writeKept(parts: readonly string[]): void {
  mkdirSync(at('../../../docs/images/'), { recursive: true });
  const results = readResults();
  const kept = parts.flatMap((part) => (results[part] === undefined ? [] : [{ part, ...results[part] }]));
  writeFileSync(at('../../../docs/PERFORMANCE.md'), writePage(kept));
  for (const plot of kept.flatMap(({ report: { plots } }) => plots ?? [])) {
    writeFileSync(at(`../../../docs/images/performance-${plot.name}.svg`), drawPlot(plot));
  }
}

/** Prints a report to the terminal. */
export function showReport({ title, tables, promises }: Report): void {
  console.log(`\n${title}\n`);
  for (const { caption, head, rows } of tables) {
    if (caption !== '') console.log(`${caption}:`);
    const all = [head, ...rows];
    const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
    for (const row of all) {
      console.log(
        row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  '),
      );
    }
    console.log('');
  }
  for (const { what, atMost, measured, unit } of promises) {
    console.log(
      `${measured <= atMost ? 'holds ' : 'BROKEN'}  ${what}: ${measured.toFixed(2)} ${unit} (at most ${atMost})`,
    );
  }
}

const width = 760;
const ours = '#0f766e';
const others = '#94a3b8';
const palette = ['#0f766e', '#b45309', '#4338ca', '#be123c', '#15803d', '#6b7280'];

const text = (x: number, y: number, content: string, more = ''): string =>
  `<text x="${x}" y="${y}" font-size="12" fill="#334155" ${more}>${escaped(content)}</text>`;
const escaped = (content: string): string => content.replace(/[&<>]/g, (letter) => `&#${letter.charCodeAt(0)};`);

/** Draws a plot as SVG that is readable on light and dark pages. */
function drawPlot(plot: Plot): string {
  const { height, content } = plot.kind === 'bars' ? drawBars(plot.bars) : drawLines(plot);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" role="img" aria-label="${escaped(plot.title)}">
<rect width="${width}" height="${height}" fill="#ffffff"/>
${text(12, 22, plot.title, 'font-weight="bold"')}
${content}
</svg>
`;
}

function drawBars(bars: Extract<Plot, { kind: 'bars' }>['bars']): { height: number; content: string } {
  const left = 290;
  const scale = (width - left - 70) / Math.max(...bars.map(({ value }) => value));
  const rows = bars.map(({ name, value, ours: isOurs }, index) => {
    const y = 40 + index * 26;
    const length = Math.max(1, value * scale);
    return [
      text(left - 10, y + 14, name, 'text-anchor="end"'),
      `<rect x="${left}" y="${y}" width="${length.toFixed(1)}" height="18" fill="${isOurs ? ours : others}"/>`,
      text(left + length + 6, y + 14, value >= 10 ? value.toFixed(0) : value.toFixed(2)),
    ].join('\n');
  });
  return { height: 52 + bars.length * 26, content: rows.join('\n') };
}

function drawLines({ lines, unit }: Extract<Plot, { kind: 'lines' }>): { height: number; content: string } {
  const [left, top, bottom, height] = [60, 44, 290, 340];
  const points = lines.flatMap((line) => line.points);
  const lastMinute = Math.max(1, ...points.map(([minute]) => minute));
  const highest = Math.max(1, ...points.map(([, value]) => value));
  const x = (minute: number): number => left + (minute / lastMinute) * (width - left - 20);
  const y = (value: number): number => bottom - (value / highest) * (bottom - top);
  const marks = [0, 0.5, 1].flatMap((part) => [
    `<line x1="${left}" x2="${width - 20}" y1="${y(highest * part)}" y2="${y(highest * part)}" stroke="#e2e8f0"/>`,
    text(left - 6, y(highest * part) + 4, (highest * part).toFixed(highest < 10 ? 1 : 0), 'text-anchor="end"'),
    text(x(lastMinute * part), bottom + 18, `${(lastMinute * part).toFixed(0)} min`, 'text-anchor="middle"'),
  ]);
  const apart = Math.min(165, (width - left - 20) / lines.length);
  const drawn = lines.map(({ name, points: own }, index) => {
    const colour = palette[index % palette.length] ?? ours;
    const path = own.map(([minute, value]) => `${x(minute).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
    return [
      `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="1.5"/>`,
      `<rect x="${left + index * apart}" y="${bottom + 28}" width="10" height="10" fill="${colour}"/>`,
      text(left + 14 + index * apart, bottom + 37, name),
    ].join('\n');
  });
  return { height, content: [text(left, top - 8, unit), ...marks, ...drawn].join('\n') };
}
