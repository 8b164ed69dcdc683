import { fromHex, ownBytes, toHex } from '../bytes.ts';
import { Refusal } from '../refusal.ts';
import type { DirectBoot, HashedFile } from './direct-boot.ts';
import { maximumFirmware, readFirmware } from './firmware.ts';
import { type DstackMeasurement, readDstackMachine, recordedValues } from './recorded-machine.ts';
import { cpuSignature } from './snp/cpu-types.ts';
import { launchDigest } from './snp/launch-digest.ts';
import { acpiFiles, vcpusIn } from './tdx/acpi-tables.ts';
import { pageOrderOf } from './tdx/machines.ts';
import { memoryMap } from './tdx/memory-map.ts';
import { mrTd } from './tdx/mr-td.ts';
import { acpiDigests, commandLineEvents, extended, kernelEvents, platformEvents } from './tdx/registers.ts';
import { tdSectionsOf } from './tdx/td-sections.ts';

export { type HashedFile, hashFile } from './direct-boot.ts';
export type { DstackMeasurement } from './recorded-machine.ts';
export { cpuTypes } from './snp/cpu-types.ts';
export { tdxMachines } from './tdx/machines.ts';

/** Thrown when a measurement cannot be computed. The message says which input is wrong, and why. */
export class MeasureError extends Error {
  override readonly name = 'MeasureError';
}

/** The files of a direct boot. */
export interface BootFiles {
  readonly kernel: Uint8Array;
  /** Made by `hashFile`. */
  readonly initrd: HashedFile;
  readonly commandLine: string;
}

export interface SnpMachineOptions extends BootFiles {
  /** An image of OVMF with room for kernel hashes (`OvmfPkg/AmdSev`). */
  readonly firmware: Uint8Array;
  readonly vcpus: number;
  /** QEMU's name of the processor model, such as `EPYC-Milan`. */
  readonly cpuType: string;
  /** SEV_FEATURES of the guest. The default is 1: SEV-SNP alone. */
  readonly guestFeatures?: number | undefined;
  /** 64 hex digits. The default is zeros, as QEMU's. */
  readonly hostData?: string | undefined;
}

/** Computes what SEV-SNP reports for a direct boot with QEMU, as a pin. Throws `MeasureError`. */
export const measureSnp = (options: SnpMachineOptions) =>
  measured(() => {
    const { firmware, vcpus, cpuType, guestFeatures = 1, hostData = '00'.repeat(32) } = options;
    const measurement = launchDigest({
      firmware: readFirmware(ownBytes(firmware, 'the firmware', maximumFirmware)),
      boot: directBoot(options),
      cpuSignature: cpuSignature(cpuType),
      ...{ vcpus, guestFeatures },
    });
    return { measurement: toHex(measurement), host_data: toHex(fromHex(hostData, 'the host data', 32)) };
  });

export interface TdxMachineOptions extends BootFiles {
  /** An image of OVMF with TDX metadata, before edk2-stable202505. */
  readonly firmware: Uint8Array;
  /** One of `tdxMachines`. */
  readonly machine: string;
  /** In bytes. */
  readonly memory: number;
  /** QEMU's `etc/acpi/tables`. They describe the vCPUs and devices. */
  readonly acpiTables: Uint8Array;
  /** If given, the ACPI tables must have this number. */
  readonly vcpus?: number | undefined;
}

/** Computes what TDX reports for a direct boot with QEMU, as a pin. Throws `MeasureError`. */
export const measureTdx = (options: TdxMachineOptions) =>
  measured(() => {
    const sections = tdSectionsOf(readFirmware(ownBytes(options.firmware, 'the firmware', maximumFirmware)));
    const memory = memoryMap(options.memory);
    const order = pageOrderOf(options.machine);
    const acpi = acpiFiles(ownBytes(options.acpiTables, 'the file of ACPI tables', maximumFirmware));
    const vcpus = vcpusIn(acpi.tables);
    if (options.vcpus !== undefined && options.vcpus !== vcpus) {
      throw new Refusal(`the ACPI tables are of a machine with ${vcpus} vCPUs, not ${options.vcpus}`);
    }
    return {
      mr_td: toHex(mrTd(sections, order)),
      rtmr0: register(platformEvents(sections, memory, acpiDigests(acpi))),
      ...bootRegisters(directBoot(options), options.memory),
      // Nothing in the image extends RTMR3.
      rtmr3: '00'.repeat(48),
    };
  });

/** Computes RTMR1 and RTMR2 of TDX, which depend on no firmware. `memory` is in bytes. Throws `MeasureError`. */
export const measureBoot = (options: BootFiles & { readonly memory: number }) =>
  measured(() => bootRegisters(directBoot(options), options.memory));

/** Reads the pin of a dstack machine from recorded evidence. Throws `MeasureError`. */
export const measureDstack = (recorded: unknown, appCompose?: Uint8Array): DstackMeasurement =>
  measured(() =>
    readDstackMachine(
      recorded,
      appCompose === undefined ? undefined : ownBytes(appCompose, 'the compose file', 0x10_0000),
    ),
  );

/**
 * Compares a computed pin with recorded evidence: a document of `GET /v1/gateway/attestation`, or an answer of dstack's
 * `GetQuote`. Returns the fields that differ. Verifies no signature. Throws `MeasureError`.
 */
export const compareWithRecorded = (pin: Readonly<Record<string, string>>, recorded: unknown) =>
  measured(() => {
    const values = recordedValues(recorded);
    return Object.entries(pin)
      .filter(([field, computed]) => values[field] !== computed)
      .map(([field, computed]) => ({ field, computed, recorded: values[field] }));
  });

const bootRegisters = (boot: DirectBoot, memory: number) => ({
  rtmr1: register(kernelEvents(boot, memoryMap(memory))),
  rtmr2: register(commandLineEvents(boot)),
});

const register = (events: readonly Uint8Array[]): string => toHex(extended(events));

/** Larger than any kernel that QEMU places below 4 GiB. */
const maximumKernel = 0x8000_0000;

const directBoot = ({ kernel, initrd, commandLine }: BootFiles): DirectBoot => {
  if (commandLine.includes('\0')) throw new Refusal('the command line has a zero byte');
  return { kernel: ownBytes(kernel, 'the kernel', maximumKernel), initrd, commandLine };
};

function measured<T>(compute: () => T): T {
  try {
    return compute();
  } catch (error) {
    throw error instanceof Refusal ? new MeasureError(error.message) : error;
  }
}
