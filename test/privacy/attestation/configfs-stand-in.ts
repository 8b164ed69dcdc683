import { execFileSync } from 'node:child_process';
import { constants, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { nodeFiles, type ReportFiles } from '@sotto/attestation/producers';

export interface StandInOptions {
  readonly provider: 'tdx_guest' | 'sev_guest';
  /** What the hardware answers to 64 bytes. */
  readonly report: (reportData: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>;
  readonly certificates?: Uint8Array | undefined;
}

/**
 * A directory that does what Linux does under configfs-tsm: making a directory in it brings the attributes, and reading
 * `outblob` blocks the reader's thread until the report is made. Everything but those two is the file system's own.
 */
export class ConfigfsStandIn {
  readonly directory: string;
  readonly files: ReportFiles;
  readonly #options: StandInOptions;
  /** How long a report takes, in ms. */
  delayMs = 0;
  reports = 0;
  open = 0;
  mostOpen = 0;

  private constructor(directory: string, options: StandInOptions) {
    this.directory = directory;
    this.#options = options;
    this.files = {
      ...nodeFiles,
      makeDirectory: (path) => this.#make(path),
      removeDirectory: (path) => this.#remove(path),
      write: (path, bytes) => this.#write(path, bytes),
    };
  }

  static async make(options: StandInOptions): Promise<ConfigfsStandIn> {
    return new ConfigfsStandIn(await mkdtemp(join(tmpdir(), 'sotto-configfs-')), options);
  }

  async stop(): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }

  async #make(path: string): Promise<void> {
    this.open += 1;
    this.mostOpen = Math.max(this.mostOpen, this.open);
    await mkdir(path);
    await writeFile(join(path, 'inblob'), '');
    await writeFile(join(path, 'generation'), '1\n');
    await writeFile(join(path, 'provider'), `${this.#options.provider}\n`);
    if (this.#options.certificates) await writeFile(join(path, 'auxblob'), this.#options.certificates);
    execFileSync('mkfifo', [join(path, 'outblob')]);
  }

  /** Whoever opens `outblob` next waits for a report on what was written. */
  async #serve(path: string): Promise<void> {
    const pipe = await open(join(path, 'outblob'), constants.O_WRONLY);
    try {
      const report = await this.#options.report(Uint8Array.from(await readFile(join(path, 'inblob'))));
      await new Promise((resolve) => setTimeout(resolve, this.delayMs));
      this.reports += 1;
      await pipe.write(report);
    } finally {
      await pipe.close();
    }
  }

  async #write(path: string, bytes: Uint8Array): Promise<void> {
    await nodeFiles.write(path, bytes);
    void this.#serve(dirname(path));
  }

  async #remove(path: string): Promise<void> {
    await rm(path, { recursive: true });
    this.open -= 1;
  }
}
