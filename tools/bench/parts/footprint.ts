import { spawnSync } from 'node:child_process';
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { TestProcess } from '../../../test/kit/plane.ts';
import { type Contender, end, startNode } from '../contender.ts';
import { cpuMicroseconds, median, residentMiB } from '../cpu.ts';
import { Load } from '../load.ts';
import { startPassThrough } from '../others.ts';
import { figure, noRedis, type Part } from '../page/report.ts';
import { benchCatalog, benchRegistry, startSotto } from '../sotto.ts';

/** Longer than an idle process takes to return memory: 10 to 20 seconds. */
const idleMs = 25_000;
/** What a broker serves before its memory is read again. */
const served = 20_000;

interface Footprint {
  readonly readyS: number;
  readonly startCpuS: number;
  readonly idleMiB: number;
}

/** Measures what the processes need before they serve anyone: time to start, memory, and the size of their images. */
export const footprint: Part = async ({ quick }) => {
  const provider = await startNode('./processes/provider.ts', [], false);
  const sotto = await startSotto({
    registry: benchRegistry(`http://127.0.0.1:${provider.port}/v1`),
    catalog: benchCatalog(['json']),
    ledgerYields: false,
  });
  if (sotto === undefined) return noRedis();
  const { broker, control } = sotto.service;
  const planes = { broker, control };
  const found = new Map<string, Footprint[]>();
  for (let round = 0; round < (quick ? 1 : 5); round += 1) {
    for (const [name, plane] of Object.entries(planes)) {
      found.set(name, [...(found.get(name) ?? []), await startAgain(plane)]);
    }
  }
  const brokerMemory = await memoryOf(sotto.contender('key'));
  const floor = await startPassThrough(`http://127.0.0.1:${provider.port}/v1`, 'floor');
  await sleep(idleMs);
  const floorIdleMiB = residentMiB(floor.pids());
  const floorMemory = await memoryOf(floor);
  await floor.stop();
  await sotto.stop();
  await end(provider.child);
  const of = (name: string, value: keyof Footprint): number =>
    median((found.get(name) ?? []).map((each) => each[value]));
  const idleMiB = of('broker', 'idleMiB');
  const rows = Object.keys(planes).map((name) => [
    name,
    figure(of(name, 'readyS'), 2),
    figure(of(name, 'startCpuS'), 2),
    figure(of(name, 'idleMiB')),
    figure(imageMiB(name)),
  ]);
  return {
    title: 'Footprint',
    method: `Each process starts beside running servers, on idle cores. Ready means that \`/readyz\` says so; memory is what is resident ${idleMs / 1000} seconds later, when a process that nobody asks has returned what its start left. The floor is a bare Fastify in front of undici. Images include Node, uncompressed.`,
    tables: [
      {
        caption: '',
        head: ['', 'seconds to ready', 'CPU seconds of that', 'idle, MiB', 'image, MiB'],
        rows,
      },
      {
        caption: `Memory over ${served.toLocaleString('en')} whole answers, in MiB`,
        head: ['', 'before', 'right after', `${idleMs / 1000} seconds later`],
        rows: [
          ['broker', figure(idleMiB), figure(brokerMemory.atOnceMiB), figure(brokerMemory.restedMiB)],
          ['pass-through (floor)', figure(floorIdleMiB), figure(floorMemory.atOnceMiB), figure(floorMemory.restedMiB)],
        ],
      },
    ],
    promises: [
      { what: 'broker: time to ready', atMost: 1, measured: of('broker', 'readyS'), unit: 's' },
      {
        ...{ what: 'broker: idle', atMost: 110, measured: idleMiB, unit: 'MiB' },
        because: `the floor, which knows no key and no provider, has ${figure(floorIdleMiB)} MiB.`,
      },
      {
        ...{ what: `broker: ${idleMs / 1000} s after 20,000 requests`, atMost: 165, unit: 'MiB' },
        ...{ measured: brokerMemory.restedMiB, because: `the floor has ${figure(floorMemory.restedMiB)} MiB then.` },
      },
      { what: 'control: time to ready', atMost: 1.5, measured: of('control', 'readyS'), unit: 's' },
    ],
  };
};

interface LoadedMemory {
  readonly atOnceMiB: number;
  readonly restedMiB: number;
}

/** What is resident right after the load, and after a rest. */
async function memoryOf({ target, pids }: Contender): Promise<LoadedMemory> {
  const load = new Load(target);
  await load.closedLoop({ model: 'json', stream: false, count: served, connections: 32 });
  await load.close();
  const atOnceMiB = residentMiB(pids());
  await sleep(idleMs);
  return { atOnceMiB, restedMiB: residentMiB(pids()) };
}

async function startAgain(plane: TestProcess): Promise<Footprint> {
  await plane.terminate();
  const startedAt = performance.now();
  await plane.restart();
  const readyS = (performance.now() - startedAt) / 1000;
  const startCpuS = cpuMicroseconds([plane.pid]) / 1e6;
  await sleep(idleMs);
  return { readyS, startCpuS, idleMiB: residentMiB([plane.pid]) };
}

/** The size of a process's image in MiB. It builds the image. */
function imageMiB(name: string): number {
  const folder = mkdtempSync(join(tmpdir(), 'sotto-image-'));
  try {
    const root = fileURLToPath(new URL('../../../', import.meta.url));
    const out = join(folder, 'image');
    const built = spawnSync(process.execPath, ['scripts/run.mjs', 'image', name, out], { cwd: root, stdio: 'ignore' });
    return built.status === 0 ? sizeOf(out) / 2 ** 20 : Number.NaN;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function sizeOf(path: string): number {
  const stat = lstatSync(path);
  if (!stat.isDirectory()) return stat.isFile() ? stat.size : 0;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}
