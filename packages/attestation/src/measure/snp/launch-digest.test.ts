import { describe, expect, it } from 'vitest';
import type { Bytes } from '../../bytes.ts';
import { madeFirmware, madeInitrd, madeKernel, sevSections } from '../../testing/made-image.ts';
import { vectorBytes } from '../../testing/vectors.ts';
import { hashFile, measureSnp, type SnpMachineOptions } from '../index.ts';

const nothing = new Uint8Array();
const amdSev = vectorBytes('measure/ovmf_AmdSev_suffix.bin');
const measure = (options: Partial<SnpMachineOptions>): string =>
  measureSnp({
    ...{ firmware: amdSev, kernel: nothing, initrd: hashFile([]), commandLine: '', vcpus: 1, cpuType: 'EPYC-v4' },
    ...options,
  }).measurement;

describe('the launch digest of SEV-SNP', () => {
  // The values of tests/test_guest.py of virtee/sev-snp-measure at 8f2b337e. The kernel is empty there.
  it.each([
    [
      1,
      'console=ttyS0 loglevel=7',
      0x21,
      '803f691094946e42068aaa3a8f9e26a5c89f36f7b73ecfb28c653360fe4b3aba7e534442e7e1e17895dfe778d0228977',
    ],
    [
      1,
      'console=ttyS0 loglevel=7',
      0x1,
      '6d287813eb5222d770f75005c664e34c204f385ce832cc2ce7d0d6f354454362f390ef83a92046c042e706363b4b08fa',
    ],
    [1, '', 0x21, '329c8ce0972ae52343b64d34a434a86f245dfd74f5ed7aae15d22efc78fb9683632b9b50e4e1d7fa41179ef98a7ef198'],
    [1, '', 0x1, 'ddc5224521617a536ee7ce9dd6224d1b58a8d4fda1c741f3ac99fc4bfa04ba6e9fc98646d4a07a9079397fa3852819b5'],
    [4, '', 0x21, '4953b1fb416fa874980e8442b3706d345926d5f38879134e00813c5d7abcbe78eafe7b422907be0b4698e2414a631942'],
    [4, '', 0x1, '5061fffb019493a903613d56d54b94912a1a2f9e4502385f5c194616753720a92441310ba6c4933de877c36e23046ad5'],
  ])('is that of sev-snp-measure for %i vCPUs, `%s` and features %i', (vcpus, commandLine, guestFeatures, expected) => {
    expect(measure({ vcpus, commandLine, guestFeatures })).toBe(expected);
  });

  // Computed by sev-snp-measure 0.0.13 (PyPI) from the same files.
  it.each([
    [
      'EPYC',
      1,
      0x1,
      '56de8f2d2b59756c48b02a53cf10cf48f305e72cbed17c34347f896180dc5f443ded04b41ee26e7d0323ee28550aa027',
    ],
    [
      'EPYC-Rome',
      4,
      0x1,
      'b612a5aceb159f65643f31309a5cee0e19044c2ce0d816648d5900280cb4ade7831bed695ac856583a4069ce54844ceb',
    ],
    [
      'EPYC-Milan',
      1,
      0x1,
      'c9667fd878aa67ba378a168299e987d7924644d0cd025b0fbead1055c2783487387517efc4926efc2473338c4119b610',
    ],
    [
      'EPYC-Milan',
      4,
      0x1,
      '060a12d1a334632a2bfe1cfb84ec66dcb1af899329c7aeea6f31c1948a291ba0663444cb490bd069dd9e8281aa6a3fe3',
    ],
    [
      'EPYC-Milan-v2',
      2,
      0x21,
      'b2ecf373414be480b1eb87c8da4c00c9be869991608c9f2b8a606cecd57d522d44b73a038f06c08a8542b435f86a4993',
    ],
    [
      'EPYC-Genoa',
      4,
      0x1,
      '6736079c6e83293fac8dd7e2464af2a9dc69b06732d826a3481a726254ecc7b45c5c228e8a362a2dbfecdc9e05e97623',
    ],
    [
      'EPYC-Turin',
      1,
      0x1,
      '960cab4b9442dbeb70967800dcd0026d803eda3f66f5bdec6aa9896f85bd6aca807e44b7877897cff9e2c2f7dc206e73',
    ],
    [
      'EPYC-Turin',
      4,
      0x1,
      '64c9b69eb58f672cb389c0b1e70987ecbfd03fe59ca77ecfcd01ccce49ebd23029ba78b25275924cddefebb4d4d6e8c1',
    ],
  ])('covers kernel, initrd and command line on %s with %i vCPUs', (cpuType, vcpus, guestFeatures, expected) => {
    const commandLine = `root=/dev/mapper/root dstack.rootfs_hash=${'ab'.repeat(32)}`;
    const files = { firmware: madeFirmware(), kernel: madeKernel(), initrd: hashFile([madeInitrd()]), commandLine };
    expect(measure({ ...files, cpuType, vcpus, guestFeatures })).toBe(expected);
    for (const other of [
      { kernel: madeKernel(0x4000) },
      { initrd: hashFile([madeInitrd(0x1000)]) },
      { commandLine: `${commandLine} ` },
      { vcpus: vcpus + 1 },
      { guestFeatures: guestFeatures ^ 0x20 },
    ]) {
      expect(measure({ ...files, cpuType, vcpus, guestFeatures, ...other })).not.toBe(expected);
    }
  });

  it('comes with the host data as it is pinned', () => {
    const files = {
      firmware: amdSev,
      kernel: nothing,
      initrd: hashFile([]),
      commandLine: '',
      vcpus: 1,
      cpuType: 'EPYC',
    };
    expect(measureSnp(files).host_data).toBe('00'.repeat(32));
    expect(measureSnp({ ...files, hostData: 'AB'.repeat(32) }).host_data).toBe('ab'.repeat(32));
    expect(() => measureSnp({ ...files, hostData: 'ab' })).toThrow('the host data has 2 hex digits, not 64');
  });

  const cut = (bytes: Bytes): Bytes => bytes.subarray(0, bytes.length - 1);
  it.each<[string, Partial<SnpMachineOptions>, RegExp]>([
    ['no firmware', { firmware: nothing }, /the firmware is not an image of OVMF/],
    ['another file', { firmware: new Uint8Array(0x2000) }, /does not end with a table of GUIDs/],
    ['a firmware that is cut', { firmware: cut(amdSev) }, /the firmware is not an image of OVMF/],
    ['no SEV metadata', { firmware: madeFirmware({}) }, /has no SEV metadata: it was not built for SEV-SNP/],
    [
      'no page for hashes',
      { firmware: vectorBytes('measure/ovmf_OvmfX64_suffix.bin') },
      /no page for the hashes of a kernel.*build OvmfPkg\/AmdSev\/AmdSevX64\.dsc/,
    ],
    ['an unknown section', { firmware: madeFirmware({ sev: [...sevSections, [0, 0x1000, 9]] }) }, /unknown type 9/],
    ['a part of a page', { firmware: madeFirmware({ sev: [[0x100, 0x1000, 1], ...sevSections] }) }, /whole pages/],
    ['an unknown CPU', { cpuType: 'Xeon' }, /`Xeon` is not known; the known ones are EPYC, .*EPYC-Milan.*EPYC-Turin$/],
    ['no vCPU', { vcpus: 0 }, /the number of vCPUs is 0; it must be from 1 to 4096/],
    ['half a vCPU', { vcpus: 1.5 }, /the number of vCPUs is 1\.5/],
    ['a zero byte in the command line', { commandLine: 'a\0b' }, /the command line has a zero byte/],
  ])('is refused with %s', (_, options, message) => {
    expect(() => measure(options)).toThrow(message);
  });
});
