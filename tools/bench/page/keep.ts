import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { type KeptReport, writePage } from './page.ts';
import { drawPlot } from './plot.ts';
import type { Report } from './report.ts';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const resultOf = (part: string): string => at(`../results/${part}.json`);

const machine = (): string => {
  const [first] = cpus();
  return `Node ${process.version.slice(1)}, ${cpus().length} × ${first?.model.trim() ?? 'CPU'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}`;
};

/** Keeps what a part found; `writeKept` tells it. */
export function keepReport(part: string, report: Report): void {
  mkdirSync(at('../results/'), { recursive: true });
  const own: KeptReport = { part, machine: machine(), report };
  writeFileSync(resultOf(part), `${JSON.stringify(own, undefined, 2)}\n`);
}

/** Writes page and pictures from all that is kept; `parts` in their order on the page. */
export function writeKept(parts: readonly string[]): void {
  mkdirSync(at('../../../docs/images/'), { recursive: true });
  const kept = parts
    .filter((name) => existsSync(resultOf(name)))
    .map((name) => JSON.parse(readFileSync(resultOf(name), 'utf8')) as KeptReport);
  writeFileSync(at('../../../docs/PERFORMANCE.md'), writePage(kept));
  for (const plot of kept.flatMap(({ report: { plots } }) => plots ?? [])) {
    writeFileSync(at(`../../../docs/images/performance-${plot.name}.svg`), drawPlot(plot));
  }
}

/** Shows a report on the terminal. */
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
