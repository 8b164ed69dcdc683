import { runOn } from './contender.ts';
import { keepReport, showReport, writeKept } from './page/page.ts';
import type { Part } from './page/report.ts';
import { defaultStart } from './parts/default-start.ts';
import { footprint } from './parts/footprint.ts';
import { gateways } from './parts/gateways.ts';
import { idle } from './parts/idle.ts';
import { overload } from './parts/overload.ts';
import { peers } from './parts/peers.ts';
import { processes } from './parts/processes.ts';
import { scale } from './parts/scale.ts';
import { shapes } from './parts/shapes.ts';
import { shares } from './parts/shares.ts';
import { sizing } from './parts/sizing.ts';
import { soak } from './parts/soak.ts';
import { streams } from './parts/streams.ts';
import { tickets } from './parts/tickets.ts';
import { usage } from './parts/usage.ts';

/**
 * Measures the broker in parts and writes `docs/PERFORMANCE.md`. Without a name it runs all parts except `soak`, which
 * takes an hour. `--quick` measures roughly and only prints. `page` measures nothing and writes the page again from
 * `results.json`.
 */
const parts = {
  gateways,
  shapes,
  shares,
  tickets,
  scale,
  streams,
  'default-start': defaultStart,
  idle,
  peers,
  footprint,
  processes,
  sizing,
  usage,
  overload,
  soak,
} as const satisfies Record<string, Part>;
/**
 * In these parts the load needs as much CPU as the service. On the cores of Redis and the provider alone, it could not
 * offer the rate.
 */
const loadsNeedAll: ReadonlySet<string> = new Set<keyof typeof parts>(['overload', 'default-start', 'peers']);
const names = Object.keys(parts) as (keyof typeof parts)[];

const asked = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
if (asked.length === 1 && asked[0] === 'page') {
  writeKept(names);
  process.exit(0);
}
/** Programs that measure one piece by itself. Each prints its figures and takes arguments of its own. */
const pieces = ['bodies', 'dashboard', 'measurements', 'pair', 'planning', 'proxy', 'settler', 'simulation'];
if (pieces.some((piece) => piece === asked[0])) {
  process.argv.splice(2, 1);
  await import(`./pieces/${asked[0]}.ts`);
  process.exit();
}
const quick = process.argv.includes('--quick');
const unknown = asked.filter((name) => !names.some((known) => known === name));
if (unknown.length > 0) {
  console.error(`bench: there is no part ${unknown.join(', ')}; there are ${[...names, ...pieces].join(', ')}`);
  process.exit(1);
}
for (const name of names) {
  if (asked.length === 0 ? name === 'soak' : !asked.includes(name)) continue;
  process.stderr.write(`\n${name}\n`);
  runOn(loadsNeedAll.has(name) ? 'every core' : 'the other cores');
  const report = await parts[name]({ quick });
  if (report === undefined) continue;
  showReport(report);
  if (quick) continue;
  keepReport(name, report);
  writeKept(names);
}
process.exit(0);
