import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openLogOutlet } from './log-outlet.ts';

/** Overrides the default of 1 s, which is too short on a busy machine. */
const hangMs = 30_000;

let folder: string;
const opened: number[] = [];
const open = (path: string, flags: number): number => {
  const fd = openSync(path, flags);
  opened.push(fd);
  return fd;
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sotto-log-'));
});
afterEach(() => {
  for (const fd of opened.splice(0)) closeSync(fd);
  rmSync(folder, { recursive: true });
});

const line = (text: string): string => `${JSON.stringify({ msg: text })}\n`;

it('writes its lines to a file, in order, and the rest at the end', async () => {
  const path = join(folder, 'log');
  const outlet = openLogOutlet(open(path, constants.O_CREAT | constants.O_WRONLY));
  outlet.write(line('one'));
  outlet.write(line('two'));
  await vi.waitFor(() => expect(readFileSync(path, 'utf8')).toBe(line('one') + line('two')), hangMs);
  outlet.write(line('three'));
  outlet.end();
  expect(readFileSync(path, 'utf8')).toBe(line('one') + line('two') + line('three'));
});

it.runIf(process.platform === 'linux')('goes on where the disk is full', async () => {
  const outlet = openLogOutlet(open('/dev/full', constants.O_WRONLY));
  for (let round = 0; round < 3; round += 1) {
    outlet.write(line('x'.repeat(10_000)));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  outlet.end();
});

it.runIf(process.platform === 'linux')('holds up nobody while nobody reads, and then says what was lost', async () => {
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = open(path, constants.O_RDWR | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  const outlet = openLogOutlet(writer, () => 1);
  const fill = (): void => {
    for (;;) {
      try {
        writeSync(reader, Buffer.alloc(4096, '\n'));
      } catch {
        return;
      }
    }
  };
  fill();
  // The outlet holds a megabyte besides the first batch, so the last of these lines is lost.
  for (let count = 0; count < 300; count += 1) outlet.write(line(`${count} ${'x'.repeat(8_000)}`));
  let text = '';
  const read = (): string => {
    const bytes = Buffer.alloc(1 << 16);
    for (;;) {
      try {
        text += bytes.subarray(0, readSync(reader, bytes)).toString('utf8');
      } catch {
        return text;
      }
    }
  };
  outlet.write(line('after'));
  await vi.waitFor(() => expect(read()).toContain('"after"'), hangMs);
  const said = /"lines":(\d+),"msg":"log lines were lost"/.exec(text);
  const arrived = text.match(/"msg":"\d+ x/g)?.length ?? 0;
  expect(Number(said?.[1]) + arrived).toBe(300);
  expect(arrived).toBeGreaterThan(0);
});
