import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { toBase64, toHex } from '../bytes.ts';
import { gatewayPinsSchema } from '../gateway/pins.ts';
import { parseSnpReport } from '../snp/report.ts';
import { madeFirmware, madeInitrd, madeKernel, tdxSections } from '../testing/made-image.ts';
import { vectorBytes, vectorDstackQuote, vectorInflated, vectorJson } from '../testing/vectors.ts';
import {
  compareWithRecorded,
  hashFile,
  MeasureError,
  measureBoot,
  measureDstack,
  measureTdx,
  type TdxMachineOptions,
  tdxMachines,
} from './index.ts';

const commandLine = `root=/dev/mapper/root dstack.rootfs_hash=${'ab'.repeat(32)}`;
const files = { kernel: madeKernel(), initrd: hashFile([madeInitrd()]), commandLine };
const machine: TdxMachineOptions = {
  ...files,
  firmware: madeFirmware(),
  machine: 'qemu-9',
  memory: 2 ** 32,
  acpiTables: vectorInflated('measure/qemu_q35_8_vcpus_tables'),
};

describe('a TDX machine', () => {
  // Computed by dstack-mr of Dstack-TEE/dstack at 312dc605 from the same firmware: two passes, and one.
  it.each([
    ['qemu-8', '18a38349edf9efaadad291c73c61d807f7e5cbcda6cf4ee4a345fcd09e714122e311a9c45699e32d9f67d12ed6576ec1'],
    ['qemu-9', '05a7345a07d136302a8e47183193517a0604f52b932950aa74a26705b2347619786041fc30b90cc013ccde62d7ae653f'],
  ])('has the MRTD of dstack-mr with %s', (name, mrTd) => {
    const pin = measureTdx({ ...machine, machine: name });
    expect(pin.mr_td).toBe(mrTd);
    expect(gatewayPinsSchema.safeParse({ tdx: { measurements: [pin], minimum_evaluation_number: 1 } }).success).toBe(
      true,
    );
  });

  it('has the kernel and the command line in RTMR1 and RTMR2, whatever the firmware is', () => {
    const { rtmr1, rtmr2, rtmr0 } = measureTdx(machine);
    expect(measureBoot({ ...files, memory: 2 ** 32 })).toEqual({ rtmr1, rtmr2 });
    const other = measureTdx({
      ...machine,
      firmware: madeFirmware({ tdx: tdxSections, configuration: Uint8Array.of(1) }),
    });
    expect(other).toMatchObject({ rtmr1, rtmr2 });
    expect(other.rtmr0).not.toBe(rtmr0);
  });

  it.each<[string, Partial<TdxMachineOptions>, RegExp]>([
    ['an unknown machine', { machine: 'xen' }, /`xen` is not known; the known ones are qemu-8, qemu-9$/],
    [
      'a firmware without TDX metadata',
      { firmware: madeFirmware({}) },
      /has no TDX metadata: it was not built for TDX/,
    ],
    ['another number of vCPUs', { vcpus: 2 }, /the ACPI tables are of a machine with 8 vCPUs, not 2/],
    [
      'a section that is not in the firmware',
      { firmware: madeFirmware({ tdx: [[0x9000, 0x1000, 0, 0x1000, 0, 1]] }) },
      /whose content is not in the firmware/,
    ],
    ['half a page', { firmware: madeFirmware({ tdx: [[0, 0x100, 0, 0x100, 0, 1]] }) }, /whole pages/],
  ])('is refused with %s', (_, options, message) => {
    expect(() => measureTdx({ ...machine, ...options })).toThrow(MeasureError);
    expect(() => measureTdx({ ...machine, ...options })).toThrow(message);
  });

  it('names the machines that are known', () => {
    for (const name of tdxMachines) expect(measureTdx({ ...machine, machine: name }).rtmr1).toHaveLength(96);
  });
});

describe('a recorded dstack machine', () => {
  const name = 'dstack/tdx-lite-getquote.json';
  const recording = vectorJson<{ quote: string; event_log: string }>(name);

  it.each([name, 'dstack/quote-report.json'])('%s: its registers and its identity are a pin', (path) => {
    const { pin } = measureDstack(vectorJson(path));
    const pins = { tdx: { measurements: [pin], minimum_evaluation_number: 1 } };
    expect(gatewayPinsSchema.safeParse(pins).error).toBeUndefined();
    expect(pin.compose_hash.startsWith(pin.app_id)).toBe(true);
  });

  it('is read from a gateway’s document, too, and can be given another compose file', () => {
    const quote = toBase64(vectorDstackQuote(name));
    const recorded = { evidence: { tee_type: 'tdx', quote, event_log: JSON.parse(recording.event_log) as unknown } };
    const first = measureDstack(recorded);
    expect(first).toEqual(measureDstack(recording));
    expect(first.osImageHash).toMatch(/^07a2388c/);
    const compose = new TextEncoder().encode('{"manifest_version":2}');
    const { pin, recordedComposeHash } = measureDstack(recorded, compose);
    expect(pin).toEqual({ ...first.pin, compose_hash: createHash('sha256').update(compose).digest('hex') });
    expect(recordedComposeHash).toBe(first.pin.compose_hash);
  });

  it('is refused if its log does not lead to its quote, or says too little', () => {
    const log = JSON.parse(recording.event_log) as { imr: number; event: string }[];
    const refusal = (eventLog: unknown) => () => measureDstack({ ...recording, event_log: eventLog });
    expect(refusal(log.slice(1))).toThrow('the event log does not lead to RTMR0 of the quote');
    expect(refusal(log.filter(({ event }) => event !== 'app-id'))).toThrow('the event log does not lead to RTMR3');
    expect(refusal(undefined)).toThrow('the recording has no `quote` and `event_log`');
    for (const recorded of [undefined, null, 1, {}, { evidence: null }]) {
      expect(() => measureDstack(recorded)).toThrow(MeasureError);
    }
  });
});

describe('a comparison with recorded evidence', () => {
  it('names the registers that differ', () => {
    const name = 'dstack/quote-report.json';
    const { mr_td, rtmr0, rtmr1, rtmr2 } = measureDstack(vectorJson(name)).pin;
    const pin = { mr_td, rtmr0, rtmr1, rtmr2 };
    expect(compareWithRecorded(pin, vectorJson(name))).toEqual([]);
    const other = '00'.repeat(48);
    expect(compareWithRecorded({ ...pin, rtmr1: other }, vectorJson(name))).toEqual([
      { field: 'rtmr1', computed: other, recorded: rtmr1 },
    ]);
  });

  it('reads reports of SEV-SNP', () => {
    const report = vectorBytes('snp/ms_milan_report.bin');
    const { measurement, hostData } = parseSnpReport(report);
    const pin = { measurement: toHex(measurement), host_data: toHex(hostData) };
    const recorded = { evidence: { tee_type: 'sev_snp', report: toBase64(report) } };
    expect(compareWithRecorded(pin, recorded)).toEqual([]);
    expect(compareWithRecorded({ mr_td: 'ab' }, recorded)).toMatchObject([{ field: 'mr_td', recorded: undefined }]);
    expect(() => compareWithRecorded(pin, {})).toThrow('has no `quote` of TDX and no `report` of SEV-SNP');
  });
});
