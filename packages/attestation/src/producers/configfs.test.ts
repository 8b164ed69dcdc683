import { beforeEach, describe, expect, it } from 'vitest';
import type { Bytes } from '../bytes.ts';
import { configfsSource, type ReportFiles } from './configfs.ts';

const ascii = (text: string): Bytes => Uint8Array.from(new TextEncoder().encode(text));
const reportData = new Uint8Array(64).fill(9);
const failWith = (code: string): Error => Object.assign(new Error(code), { code });

/** Simulates Linux' configfs-tsm in memory. `trouble` lists what happens at each read of `outblob`. */
class Kernel implements ReportFiles {
  readonly calls: string[] = [];
  provider = 'tdx_guest';
  certificates: Bytes | undefined;
  trouble: string[] = [];
  readonly entries = new Map<string, { written: Uint8Array; generation: number }>();

  async makeDirectory(path: string) {
    this.calls.push('mkdir');
    this.entries.set(path, { written: new Uint8Array(), generation: 0 });
  }
  async removeDirectory(path: string) {
    this.calls.push('rmdir');
    this.entries.delete(path);
  }
  async write(path: string, bytes: Uint8Array) {
    this.calls.push(`write ${path.split('/').at(-1)}`);
    const entry = this.#entry(path);
    entry.written = bytes;
    entry.generation += 1;
  }
  async read(path: string): Promise<Bytes> {
    const name = path.split('/').at(-1);
    this.calls.push(`read ${name}`);
    const entry = this.#entry(path);
    if (name === 'generation') return ascii(`${entry.generation}\n`);
    if (name === 'provider') return ascii(`${this.provider}\n`);
    if (name === 'auxblob') {
      if (this.certificates === undefined) throw failWith('ENOENT');
      return this.certificates;
    }
    const trouble = this.trouble.shift();
    if (trouble === 'disturbed') entry.generation += 1;
    else if (trouble !== undefined) throw failWith(trouble);
    return Uint8Array.from([1, 2, 3, ...entry.written]);
  }
  #entry(path: string) {
    const entry = this.entries.get(path.split('/').slice(0, -1).join('/'));
    if (entry === undefined) throw failWith('ENOENT');
    return entry;
  }
}

let kernel: Kernel;
beforeEach(() => {
  kernel = new Kernel();
});
const report = () => configfsSource({ directory: '/report', files: kernel, pauseMs: 0 }).report(reportData);

describe('a report through configfs', () => {
  it('writes the 64 bytes once, reads between two checks of the generation, and removes the directory', async () => {
    const made = await report();
    expect(made).toEqual({ tee: 'tdx', quote: Uint8Array.from([1, 2, 3, ...reportData]) });
    expect(kernel.calls).toEqual([
      'mkdir',
      'write inblob',
      'read generation',
      'read outblob',
      'read provider',
      'read generation',
      'rmdir',
    ]);
    expect(kernel.entries.size).toBe(0);
  });

  it('of SEV-SNP includes the host’s certificates', async () => {
    kernel.provider = 'sev_guest';
    kernel.certificates = Uint8Array.of(7);
    expect(await report()).toMatchObject({ tee: 'sev_snp', certificates: Uint8Array.of(7) });
  });

  it.each([undefined, new Uint8Array()])('of SEV-SNP works without certificates (%j)', async (certificates) => {
    kernel.provider = 'sev_guest';
    kernel.certificates = certificates;
    expect(await report()).toMatchObject({ tee: 'sev_snp', certificates: undefined });
  });

  it.each(['EBUSY', 'EINTR', 'EAGAIN', 'disturbed'])('is repeated after %s', async (trouble) => {
    kernel.trouble = [trouble, trouble];
    expect(await report()).toMatchObject({ tee: 'tdx' });
    expect(kernel.calls.filter((call) => call === 'write inblob')).toHaveLength(3);
    expect(kernel.calls.at(-1)).toBe('rmdir');
  });

  it.each([
    [Array(9).fill('disturbed'), 'disturbed'],
    [Array(9).fill('EBUSY'), 'EBUSY'],
    [['ENXIO'], 'ENXIO'],
  ])('fails after %j, and the directory is removed', async (trouble, code) => {
    kernel.trouble = trouble;
    await expect(report()).rejects.toMatchObject({ name: 'EvidenceError', code });
    expect(kernel.entries.size).toBe(0);
  });

  it('is refused for unknown hardware', async () => {
    kernel.provider = 'arm_cca_guest';
    await expect(report()).rejects.toMatchObject({ code: 'provider_unknown' });
    expect(kernel.entries.size).toBe(0);
  });

  it('reports why the directory could not be created', async () => {
    kernel.makeDirectory = async () => {
      throw failWith('EACCES');
    };
    await expect(report()).rejects.toMatchObject({ code: 'EACCES' });
  });
});
