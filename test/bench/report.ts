/** What one contender cost. CPU in µs, times in ms. */
export interface Row {
  readonly name: string;
  readonly cpuPerRequest: number;
  readonly requestsPerSecond: number;
  /** Per streamed chunk, one event a read. */
  readonly cpuPerSingleChunk: number;
  /** The same, twenty events a read. */
  readonly cpuPerBurstChunk: number;
  readonly ttfbP50: number;
  readonly ttfbP99: number;
  readonly streamsMiB: { readonly before: number; readonly after: number } | undefined;
}

export interface Conditions {
  readonly rounds: number;
  readonly perSecond: number;
  readonly held: number;
  /** The name of the row that ratios are taken to. */
  readonly floor: string;
}

/** Prints the rows, and the ratios that the promises are made in. */
export function printReport(rows: readonly Row[], { rounds, perSecond, held, floor: floorName }: Conditions): void {
  const direct = rows[0];
  const floor = rows.find((row) => row.name === floorName);
  const portkey = rows.find((row) => row.name.startsWith('Portkey'));
  console.log(`\nMedians of ${rounds} interleaved rounds; contenders on one core. CPU in µs.\n`);
  table(
    [
      '',
      'CPU/request',
      'requests/s',
      'CPU/chunk (1 a read)',
      'CPU/chunk (20 a read)',
      'TTFB p50 ms',
      'TTFB p99 ms',
      `${held} streams MiB`,
    ],
    rows.map((row) => [
      row.name,
      number(row.cpuPerRequest),
      number(row.requestsPerSecond),
      number(row.cpuPerSingleChunk, 2),
      number(row.cpuPerBurstChunk, 2),
      number(row.ttfbP50, 2),
      number(row.ttfbP99, 2),
      row.streamsMiB === undefined ? '-' : `${number(row.streamsMiB.before)} → ${number(row.streamsMiB.after)}`,
    ]),
  );
  if (direct === undefined || floor === undefined) return;
  console.log(`\nRatios to the floor; added time to first byte at ${perSecond} streams/s, over the provider alone.\n`);
  table(
    ['', 'CPU/request ×', 'of Portkey ×', 'chunk ×', 'chunk (20) ×', 'added p50 ms', 'added p99 ms', 'p99 × floor'],
    rows
      .slice(1)
      .map((row) => [
        row.name,
        number(row.cpuPerRequest / floor.cpuPerRequest, 2),
        portkey === undefined ? '-' : number(row.cpuPerRequest / portkey.cpuPerRequest, 2),
        number(row.cpuPerSingleChunk / floor.cpuPerSingleChunk, 2),
        number(row.cpuPerBurstChunk / floor.cpuPerBurstChunk, 2),
        number(row.ttfbP50 - direct.ttfbP50, 2),
        number(row.ttfbP99 - direct.ttfbP99, 2),
        number((row.ttfbP99 - direct.ttfbP99) / (floor.ttfbP99 - direct.ttfbP99), 2),
      ]),
  );
}

const number = (value: number, digits = 0): string => (Number.isFinite(value) ? value.toFixed(digits) : '-');

function table(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of [head, ...rows]) {
    console.log(
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  '),
    );
  }
}
