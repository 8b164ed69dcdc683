import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Terminal } from '../../command/terminal.ts';
import { type ClientPins, readPins } from '../../pins/client-pins.ts';
import { type ReleaseStatement, statementText } from '../statement.ts';

export const zeros = '00'.repeat(48);

/** A release of one machine of each vendor. */
export const madeRelease = (released_at: string, changes: Partial<ReleaseStatement> = {}): ReleaseStatement => ({
  version: '0.2.0',
  commit: 'ab'.repeat(20),
  released_at,
  provider_registry: `sha256:${'0f'.repeat(32)}`,
  images: { 'sotto-broker': `sha256:${'1e'.repeat(32)}` },
  machines: {
    tdx: [{ name: 'qemu-9, 4 vCPUs', mr_td: zeros, rtmr0: zeros, rtmr1: zeros, rtmr2: zeros, rtmr3: zeros }],
    sev_snp: [{ name: 'EPYC-Milan, 4 vCPUs', measurement: zeros, host_data: '00'.repeat(32) }],
  },
  minimum_firmware: { tdx_evaluation_number: 20, sev_snp_tcb: { milan: { snp: 24, microcode: 219 } } },
  ...changes,
});

export const statementOf = (released_at: string, changes: Partial<ReleaseStatement> = {}): string =>
  statementText(madeRelease(released_at, changes));

/** A folder for a test's files, and a terminal whose output it reads. */
export function useFiles() {
  const folder = mkdtempSync(join(tmpdir(), 'sotto-releases-'));
  let count = 0;
  return {
    folder,
    path: (name: string): string => join(folder, name),
    /** Writes a new file. */
    write: (content: unknown): string => {
      count += 1;
      const file = join(folder, `file-${count}`);
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
      return file;
    },
    /** A name of no file. */
    fresh: (): string => {
      count += 1;
      return join(folder, `fresh-${count}`);
    },
    read: (file: string): string => readFileSync(file, 'utf8'),
    pins: (file: string): ClientPins => {
      const pins = readPins(readFileSync(file, 'utf8'));
      if (typeof pins === 'string') throw new Error(pins);
      return pins;
    },
  };
}

export function recordingTerminal() {
  const said = { out: '', note: '' };
  const terminal: Terminal = {
    ...{ environment: {}, userId: process.getuid?.(), input: Readable.from([]), onInterrupt: () => () => undefined },
    out: (text) => {
      said.out += text;
    },
    note: (text) => {
      said.note += text;
    },
  };
  return { terminal, said };
}
