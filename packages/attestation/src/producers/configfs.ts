import { randomBytes } from 'node:crypto';
import { constants, mkdir, open, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Bytes, concatBytes } from '../bytes.ts';
import type { MachineReport, ReportSource } from './hardware.ts';
import { EvidenceError } from './producer.ts';

/** The file operations for making a report. They run off the event loop, because the kernel may take seconds. */
export interface ReportFiles {
  makeDirectory(path: string): Promise<void>;
  removeDirectory(path: string): Promise<void>;
  /** Writes everything at once: the kernel accepts an attribute only in one piece. */
  write(path: string, bytes: Uint8Array): Promise<void>;
  /** Reads to the end. Rejects beyond `maxBytes`. */
  read(path: string, maxBytes: number): Promise<Bytes>;
}

const bounds = { attribute: 4096, report: 65_536, certificates: 1_048_576 } as const;
const pieceBytes = 16_384;

/** The machine's own file system. */
export const nodeFiles: ReportFiles = {
  async makeDirectory(path) {
    await mkdir(path);
  },
  removeDirectory: (path) => rmdir(path),
  async write(path, bytes) {
    const file = await open(path, constants.O_WRONLY);
    try {
      const { bytesWritten } = await file.write(bytes);
      if (bytesWritten !== bytes.length) throw new EvidenceError('short_write', 'the kernel took a part of the data');
    } finally {
      await file.close();
    }
  },
  async read(path, maxBytes) {
    const file = await open(path, constants.O_RDONLY);
    try {
      const pieces: Uint8Array[] = [];
      for (let length = 0; ; ) {
        // The reported size of such files is wrong.
        const { bytesRead, buffer } = await file.read(Buffer.alloc(pieceBytes), 0, pieceBytes, null);
        if (bytesRead === 0) return concatBytes(...pieces);
        length += bytesRead;
        if (length > maxBytes) throw new EvidenceError('too_large', 'the kernel reported more than a report');
        pieces.push(buffer.subarray(0, bytesRead));
      }
    } finally {
      await file.close();
    }
  },
};

export interface ConfigfsOptions {
  /** The directory for reports: /sys/kernel/config/tsm/report. */
  readonly directory: string;
  readonly files?: ReportFiles | undefined;
  /** The wait before the next try, in ms. */
  readonly pauseMs?: number | undefined;
}

const maxTries = 6;
const passing: ReadonlySet<string> = new Set(['EBUSY', 'EINTR', 'EAGAIN']);

/**
 * Makes reports of TDX and SEV-SNP guests through Linux' configfs-tsm (Documentation/ABI/testing/configfs-tsm). Each
 * report uses a directory of its own, which is removed afterwards.
 */
export function configfsSource({ directory, files = nodeFiles, pauseMs = 50 }: ConfigfsOptions): ReportSource {
  return {
    kind: 'configfs',
    async report(reportData) {
      const entry = join(directory, `sotto-${randomBytes(8).toString('hex')}`);
      await files.makeDirectory(entry).catch(refuse);
      try {
        for (let tries = 1; ; tries += 1) {
          const made = await makeReport(files, entry, reportData).catch((error: unknown) => {
            if (tries === maxTries || !passing.has(codeOf(error))) return refuse(error);
            return undefined;
          });
          if (made !== undefined) return made;
          if (tries === maxTries) throw new EvidenceError('disturbed', 'somebody else writes to our report');
          await new Promise((resolve) => setTimeout(resolve, pauseMs));
        }
      } finally {
        await files.removeDirectory(entry).catch(() => {});
      }
    },
  };
}

/** Makes one report. Undefined if another process interfered, which the generation counter shows. */
async function makeReport(files: ReportFiles, entry: string, reportData: Bytes): Promise<MachineReport | undefined> {
  const attribute = async (name: string): Promise<string> =>
    new TextDecoder().decode(await files.read(join(entry, name), bounds.attribute)).trim();
  await files.write(join(entry, 'inblob'), reportData);
  const generation = await attribute('generation');
  const report = await files.read(join(entry, 'outblob'), bounds.report);
  const provider = await attribute('provider');
  // Hosts may omit it, and TDX does not have it.
  const auxiliary =
    provider === 'sev_guest'
      ? await files.read(join(entry, 'auxblob'), bounds.certificates).catch(() => undefined)
      : undefined;
  if ((await attribute('generation')) !== generation) return undefined;
  switch (provider) {
    case 'tdx_guest':
      return { tee: 'tdx', quote: report };
    case 'sev_guest':
      return { tee: 'sev_snp', report, certificates: auxiliary?.length === 0 ? undefined : auxiliary };
    default:
      throw new EvidenceError('provider_unknown', 'the kernel reports through hardware that is not known here');
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unexpected';

function refuse(error: unknown): never {
  throw error instanceof EvidenceError ? error : new EvidenceError(codeOf(error), 'the kernel made no report');
}
