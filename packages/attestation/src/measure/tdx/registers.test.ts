import { sha384 } from '@noble/hashes/sha2.js';
import { describe, expect, it } from 'vitest';
import { type Bytes, toHex } from '../../bytes.ts';
import { parseEventLog } from '../../dstack/event-log.ts';
import { parseTdxQuote } from '../../tdx/quote.ts';
import { madeFirmware, madeInitrd, madeKernel, tdxSections } from '../../testing/made-image.ts';
import { vectorDstackQuote, vectorInflated, vectorJson } from '../../testing/vectors.ts';
import { hashFile } from '../direct-boot.ts';
import { readFirmware } from '../firmware.ts';
import { acpiFiles } from './acpi-tables.ts';
import { authenticode } from './authenticode.ts';
import { handOffBlock } from './hand-off-block.ts';
import { memoryMap } from './memory-map.ts';
import {
  type AcpiDigests,
  acpiDigests,
  commandLineEvents,
  extended,
  kernelEvents,
  platformEvents,
} from './registers.ts';
import { type TdSection, tdSectionsOf } from './td-sections.ts';

const variables = vectorInflated('measure/ovmf_vars_4m.fd');
/** Firmware with the memory of dstack's, and the variables of every OVMF of 4 MiB. */
const sections: readonly TdSection[] = tdSectionsOf(readFirmware(madeFirmware({ tdx: tdxSections }))).map((section) =>
  section.type === 'configuration' ? { ...section, content: variables } : section,
);

/** A recorded machine: its quote, and the digests of its event log by register. */
const recorded = (name: string) => {
  const events = parseEventLog(vectorJson<{ event_log: string }>(name).event_log);
  const digests = (register: number) =>
    events.filter((event) => event.register === register).map(({ digest }) => digest);
  return { rtmrs: parseTdxQuote(vectorDstackQuote(name)).report.rtmrs, digests };
};

describe('recorded quotes of dstack machines', () => {
  it.each([
    ['dstack/tdx-lite-getquote.json', 'QEMU 8.2.2', 2 * 2 ** 30],
    ['dstack/quote-report.json', 'QEMU 9.2.1', 64 * 2 ** 30],
  ])('%s (%s): RTMR0 follows from the memory, and the ACPI tables of the log', (name, _, memory) => {
    const { rtmrs, digests } = recorded(name);
    const [loader, rsdp, tables] = digests(0).slice(8, 11);
    const events = platformEvents(sections, memoryMap(memory), { loader, rsdp, tables } as AcpiDigests);
    expect(events.map(toHex)).toEqual(digests(0).map(toHex));
    expect(toHex(extended(events))).toBe(toHex(rtmrs[0]));
  });

  it.each(['dstack/tdx-lite-getquote.json', 'dstack/quote-report.json'])(
    '%s: RTMR1 follows from the kernel’s digest, RTMR2 from those of command line and initrd',
    (name) => {
      const { rtmrs, digests } = recorded(name);
      const files = { kernel: madeKernel(), initrd: hashFile([madeInitrd()]), commandLine: '' };
      const [ours, ...way] = kernelEvents(files, memoryMap(2 ** 32));
      const [theirs, ...recordedWay] = digests(1);
      expect(ours).toHaveLength(48);
      expect(way.map(toHex)).toEqual(recordedWay.map(toHex));
      expect(toHex(extended([theirs as Uint8Array, ...way]))).toBe(toHex(rtmrs[1]));
      expect(commandLineEvents(files)).toHaveLength(digests(2).length);
      expect(toHex(extended(digests(2)))).toBe(toHex(rtmrs[2]));
    },
  );
});

it('the hand-off block is that of a recorded machine with 512 GiB', () => {
  // The first event of the log in the TDX bundle of confidential-dot-ai/c8s-verify-js at 6b921b26.
  const digest = '0556aa624e8c4a5c4eb3f1db910fe0ee6bc0790a1509b79b2a92271bb6e6670aa922b5784ec87f6a265d809f44ead94a';
  expect(toHex(sha384(handOffBlock(sections, memoryMap(512 * 2 ** 30))))).toBe(digest);
});

describe('the registers of made files', () => {
  const commandLine = `root=/dev/mapper/root dstack.rootfs_hash=${'ab'.repeat(32)}`;
  const files = { kernel: madeKernel(), initrd: hashFile([madeInitrd()]), commandLine };
  const acpi = acpiDigests(acpiFiles(vectorInflated('measure/qemu_q35_8_vcpus_tables')));
  // Computed by dstack-mr of Dstack-TEE/dstack at 312dc605 from the same files.
  const rtmr2 = '6c4b796a7da20d1ad52d84a0dd992f72e3fc0150d1956705973bfb648b4c879158123ba34b6112e4f82dc8470b1867e6';
  const stable = '3961e56e7a771fbb351af8b438df4b723af9347c7a17606fed97b0c45b2e3fa348939b9860fb60645c7ae8bd34fc71f4';
  it.each([
    [
      512,
      '6af3b09b2b0c4785d4347184351c7818aa59ecfb8b265c2904feea1de09ba9b2517bbdecfb4734ae8d22512d85669835',
      'd084c05749ebd405827db5fd369bb37110159d194fb45c490ce561285cd59c6e218d078b1b95bcd2e6fa909758874424',
    ],
    [2048, '63d9686b3db74a0e50d396899eb5dfc9a0ddd7bd60aaa1c437085403a0c09b4366ecaa9e212105a5a30d73b04ed267db', stable],
    [2816, '97453ba0c2fd6875f09dd7fdbd954be299edc46bb51c109837810481d3d6e04b12157f37cf41763b8b86d349fdc98217', stable],
    [
      16_384,
      'b13239cd4bf868f4918ffe8b162f1759204b6a8cb6afcf713ac3d967a1139dbd3949bdf188923a347ccc69b3b92b14c9',
      stable,
    ],
  ])('are those of dstack-mr with %i MiB', (mebibytes, rtmr0, rtmr1) => {
    const memory = memoryMap(mebibytes * 2 ** 20);
    expect(toHex(extended(platformEvents(sections, memory, acpi)))).toBe(rtmr0);
    expect(toHex(extended(kernelEvents(files, memory)))).toBe(rtmr1);
    expect(toHex(extended(commandLineEvents(files)))).toBe(rtmr2);
  });

  const without = (type: TdSection['type']) => sections.filter((section) => section.type !== type);
  it.each([
    [
      'no hand-off block',
      () => platformEvents(without('hand_off_block'), memoryMap(2 ** 32), acpi),
      'no place for the hand-off',
    ],
    [
      'no variables',
      () => platformEvents(without('configuration'), memoryMap(2 ** 32), acpi),
      'no configuration volume',
    ],
    ['sections that overlap', () => platformEvents([...sections, ...sections], memoryMap(2 ** 32), acpi), 'overlap'],
    ['a byte of memory', () => memoryMap(1), 'the memory is 1 bytes; it must be at least 64 MiB'],
    [
      'an initrd that does not fit',
      () => kernelEvents({ ...files, initrd: { ...files.initrd, length: 2 ** 26 } }, memoryMap(2 ** 26)),
      'the initrd is larger',
    ],
    ['no kernel', () => kernelEvents({ ...files, kernel: new Uint8Array() }, memoryMap(2 ** 32)), 'not a Linux kernel'],
  ])('are refused with %s', (_, compute: () => unknown, message) => {
    expect(compute).toThrow(message);
  });

  it('need a kernel that is an EFI program, too', () => {
    const changed = (at: number, value: number): Bytes => {
      const kernel = madeKernel();
      kernel[at] = value;
      return kernel;
    };
    const events = (kernel: Bytes) => () => kernelEvents({ ...files, kernel }, memoryMap(2 ** 32));
    expect(events(changed(0, 0))).toThrow('the kernel is not an EFI program (a PE image)');
    expect(events(changed(0x40, 0))).toThrow('the kernel is not an EFI program');
    expect(events(changed(0x207, 1))).toThrow('boot protocol 2.12');
    expect(events(changed(0x211, 0))).toThrow('boot protocol 2.12');
    expect(events(changed(0x172 + 0x11, 0xff))).toThrow('the PE image ends early');
  });
});

describe('the digest of a PE image', () => {
  it('leaves out the checksum and the certificates', () => {
    const kernel = madeKernel();
    const digest = toHex(authenticode(kernel));
    const at = (offset: number, ...bytes: number[]): Bytes => {
      const copy = Uint8Array.from(kernel);
      copy.set(bytes, offset);
      return copy;
    };
    expect(toHex(authenticode(at(0x58 + 64, 1, 2, 3, 4)))).toBe(digest);
    expect(toHex(authenticode(at(0x58 + 68, 1)))).not.toBe(digest);
    const signed = new Uint8Array(kernel.length + 8).fill(9);
    signed.set(kernel);
    expect(toHex(authenticode(signed))).not.toBe(digest);
    // The entry of the certificate table: where it is, and how long.
    signed.set([0, 0x30, 0, 0, 8, 0, 0, 0], 0x58 + 112 + 32);
    expect(toHex(authenticode(signed))).toBe(digest);
  });
});
