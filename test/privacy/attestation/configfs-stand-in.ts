import { execFileSync } from 'node:child_process';
import { constants, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { nodeFiles, type ReportFiles } from '@sotto/attestation/producers';

export interface StandInOptions {
  readonly provider: 'tdx_guest' | 'sev_guest';
  /** The hardware's report for 64 bytes of report data. */
  readonly report: (reportData: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>;
  readonly certificates?: Uint8Array | undefined;
}

/**
 * A directory that behaves like Linux's configfs-tsm. Creating a directory in it creates the attributes, and reading
 * `outblob` blocks the reader's thread until the report is made. The real file system does everything else.
 */
export class ConfigfsStandIn {
  readonly directory: string;
  readonly files: ReportFiles;
  readonly #options: StandInOptions;
  #gate = Promise.resolve();
  /** How many reports were begun. `reports` counts the finished ones. */
  asked = 0;
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

  /** Holds back reports from now on until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = promise;
    return resolve;
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

  /** Makes the next reader of `outblob` wait for a report on the bytes that were written. */
  async #serve(path: string): Promise<void> {
    const pipe = await open(join(path, 'outblob'), constants.O_WRONLY);
    try {
      const report = await this.#options.report(Uint8Array.from(await readFile(join(path, 'inblob'))));
      this.asked += 1;
      await this.#gate;
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
