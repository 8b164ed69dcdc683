import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { madeFirmware, madeInitrd, madeKernel, vectorInflated, vectorJson } from '@sotto/attestation/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { readPins } from '../pins/client-pins.ts';
import { sotto } from './sotto.ts';

const folder = mkdtempSync(join(tmpdir(), 'sotto-measure-'));
afterAll(() => rmSync(folder, { recursive: true }));

const write = (name: string, content: Uint8Array | string): string => {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
};
write('kernel', madeKernel());
write('initrd', madeInitrd());
write('cmdline', 'root=/dev/mapper/root\n');
const firmware = write('OVMF.fd', madeFirmware());
const tables = write('tables', vectorInflated('measure/qemu_q35_8_vcpus_tables'));
const recorded = write('recorded.json', JSON.stringify(vectorJson('dstack/quote-report.json')));
const image = ['--image', folder, '--firmware', firmware];
const snp = ['sev-snp', ...image, '--vcpus', '2', '--cpu', 'EPYC-Milan'];
const tdx = ['tdx', ...image, '--machine', 'qemu-9', '--memory', '4G', '--acpi-tables', tables];

async function measure(...args: readonly string[]) {
  let [out, note] = ['', ''];
  const code = await sotto(
    {
      ...{ environment: {}, userId: undefined, input: Readable.from([]), onInterrupt: () => () => undefined },
      out: (text) => {
        out += text;
      },
      note: (text) => {
        note += text;
      },
    },
    ['measure', ...args],
  );
  return { code, out, note };
}

/** What is pinned of machines of a kind. */
const pinned = (text: string, kind: 'tdx' | 'sev_snp') => {
  const pins = readPins(text);
  if (typeof pins === 'string') throw new Error(pins);
  return pins.gateway[kind]?.measurements;
};

describe('sotto measure', () => {
  it('prints pins that `sotto verify` accepts, and adds to pins that there are', async () => {
    const first = await measure(...snp, '--name', '2026.11', '--host-data', 'ab'.repeat(32));
    expect(first).toMatchObject({ code: 0, note: expect.stringContaining('`minimum_tcb`') });
    expect(pinned(first.out, 'sev_snp')).toMatchObject([{ name: '2026.11', host_data: 'ab'.repeat(32) }]);
    const policy = { minimum_tcb: { milan: { snp: 24 } }, vmpl: 0 };
    const measurements = pinned(first.out, 'sev_snp');
    const pins = write('pins.json', JSON.stringify({ gateway: { sev_snp: { measurements, ...policy } } }));
    const more = await measure(...snp, '--guest-features', '0x21', '--pins', pins);
    expect(more).toMatchObject({ code: 0, note: '' });
    expect(pinned(more.out, 'sev_snp')).toHaveLength(2);
    expect(JSON.parse(more.out)).toMatchObject({ gateway: { sev_snp: policy } });
    const both = await measure(...tdx, '--vcpus', '8', '--pins', pins);
    expect(pinned(both.out, 'sev_snp')).toEqual(measurements);
    expect(pinned(both.out, 'tdx')).toMatchObject([{ rtmr3: '00'.repeat(48) }]);
  });

  it('ends the command line at a line break of its file, and takes each file by its own option', async () => {
    const [kernel, initrd] = [join(folder, 'kernel'), join(folder, 'initrd')];
    const cmdline = write('line', 'root=/dev/mapper/root');
    const boot = ['boot', '--kernel', kernel, '--initrd', initrd, '--cmdline', cmdline, '--memory', '4096M'];
    const { rtmr1, rtmr2 } = JSON.parse((await measure(...boot)).out) as { rtmr1: string; rtmr2: string };
    expect(pinned((await measure(...tdx)).out, 'tdx')).toMatchObject([{ rtmr1, rtmr2 }]);
  });

  it('measures an initrd of several pieces as one', async () => {
    const large = Buffer.alloc(2.5 * 1024 * 1024, 'a large initrd');
    const args = ['boot', '--image', folder, '--initrd', write('large', large), '--memory', '4G'];
    const { rtmr2 } = JSON.parse((await measure(...args)).out) as { rtmr2: string };
    const digest = createHash('sha384').update(large).digest('hex');
    const line = createHash('sha384').update(Buffer.from(`root=/dev/mapper/root initrd=initrd\0`, 'utf16le'));
    const extended = (before: Buffer, event: Buffer): Buffer =>
      createHash('sha384').update(before).update(event).digest();
    expect(rtmr2).toBe(extended(extended(Buffer.alloc(48), line.digest()), Buffer.from(digest, 'hex')).toString('hex'));
  });

  it('says which registers of a recording differ', async () => {
    const { code, note, out } = await measure(...tdx, '--recorded', recorded);
    expect(code).toBe(1);
    for (const field of ['mr_td', 'rtmr0', 'rtmr1', 'rtmr2', 'rtmr3']) {
      expect(note).toMatch(new RegExp(`^${field} differs: the recording has [0-9a-f]{96}\\.$`, 'm'));
    }
    expect(pinned(out, 'tdx')).toHaveLength(1);
  });

  it('shows the OS image of a recorded dstack machine, and which compose file it ran', async () => {
    const { code, note, out } = await measure('dstack', recorded);
    expect(code).toBe(0);
    expect(note).toContain('OS image not logged\nThese are values that a machine reported.');
    expect(pinned(out, 'tdx')).toMatchObject([{ key_provider: expect.stringMatching(/^local-sgx:/) }]);
    expect((await measure('dstack', recorded, '--app-compose', tables)).note).toContain(
      'The recorded machine ran 3763bc34',
    );
  });

  it.each<[string, readonly string[], RegExp]>([
    ['no kind', [], /^Write one of sev-snp, tdx, boot, dstack after `sotto measure`\./],
    ['another kind', ['sgx'], /^Write one of sev-snp/],
    ['an option of another kind', [...tdx, '--cpu', 'EPYC'], /^`sotto measure tdx` does not take --cpu\./],
    ['an argument', [...snp, 'more'], /^"more" is not an option\./],
    ['no firmware', ['sev-snp', '--image', folder, '--vcpus', '1', '--cpu', 'EPYC'], /^--firmware is missing\./],
    [
      'no files',
      ['sev-snp', '--vcpus', '1'],
      /^--kernel is missing\. Pass it, or the folder that has it with --image\./,
    ],
    ['no such file', [...snp, '--initrd', '/nowhere'], /^--initrd \/nowhere: there is no such file\./],
    [
      'a number that is none',
      [...snp, '--guest-features', 'on'],
      /^--guest-features must be a whole number; got "on"\./,
    ],
    [
      'a file without an end',
      [...snp, '--firmware', '/dev/zero'],
      /^--firmware \/dev\/zero: it has more than 256 MiB\./,
    ],
    ['a memory without a unit', [...tdx, '--memory', '4096'], /^--memory must be a size such as 4G or 4096M/],
    ['no recording', ['dstack'], /^FILE is missing\./],
  ])('refuses a command line with %s', async (_, args, message) => {
    const { code, note, out } = await measure(...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(note).toMatch(message);
  });

  it.each<[string, readonly string[], string]>([
    ['a file that is no firmware', [...snp, '--firmware', tables], 'the firmware is not an image of OVMF'],
    ['a CPU that is not known', [...snp, '--cpu', 'Xeon'], 'the known ones are EPYC, EPYC-IBPB'],
    ['a file that is no recording', ['dstack', tables], 'the recording has no `quote` and `event_log`'],
    ['no ACPI tables', [...tdx, '--acpi-tables', firmware], "it is not QEMU's etc/acpi/tables"],
  ])('says that it cannot measure %s', async (_, args, message) => {
    const { code, note, out } = await measure(...args);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(note).toMatch(/^Cannot measure: .*\.\n$/s);
    expect(note).toContain(message);
  });
});
