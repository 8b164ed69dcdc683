import { join } from 'node:path';
import {
  type BootFiles,
  compareWithRecorded,
  cpuTypes,
  hashFile,
  MeasureError,
  measureBoot,
  measureDstack,
  measureSnp,
  measureTdx,
  tdxMachines,
} from '@sotto/attestation/measure';
import { parseJson } from '@sotto/wire';
import type { ClientPins } from '../pins/client-pins.ts';
import { withSnp, withTdx } from '../pins/pins-with.ts';
import { onlyOne, piecesOf, readBytes, readPinsFile, readText, required } from './settings.ts';
import { noFiles, readStep, type Step } from './steps.ts';
import { type ExitCode, type Terminal, UsageError } from './terminal.ts';

export const measureHelp = `sotto measure KIND: compute what the hardware of a build reports, and print pins for \`sotto verify --pins\`.
It needs no hardware and no network.

sotto measure sev-snp     a direct boot on SEV-SNP with QEMU: the launch digest
  --firmware FILE      OVMF from OvmfPkg/AmdSev, as the host has it
  --image FOLDER       the output of make-image.sh: kernel, initrd and cmdline
  --vcpus NUMBER       the number of vCPUs
  --cpu TYPE           QEMU's model: ${cpuTypes.join(', ')}
  --host-data HEX      what the host passes as host data (default: 32 zero bytes)
  --guest-features N   SEV_FEATURES, if the host enables more than SEV-SNP (default: 0x1)

sotto measure tdx         a direct boot on TDX with QEMU: MRTD and RTMR0 to RTMR2. RTMR3 is zero
  --firmware FILE      OVMF with TDX metadata, before edk2-stable202505
  --image FOLDER       as above
  --machine NAME       the version of QEMU: ${tdxMachines.join(', ')}
  --memory SIZE        such as 4G or 4096M
  --acpi-tables FILE   QEMU's etc/acpi/tables, which describe vCPUs and devices. A guest of the same form shows them at
                       /sys/firmware/qemu_fw_cfg/by_name/etc/acpi/tables/raw
  --vcpus NUMBER       the number of vCPUs that the tables must have

sotto measure boot        RTMR1 and RTMR2 alone, as JSON: they need no firmware. Takes --image and --memory

sotto measure dstack FILE  from a recorded document of GET /v1/gateway/attestation, or dstack's GetQuote. Its event log must
                          lead to the registers of its quote. It verifies no signature
  --app-compose FILE   pin this compose file instead of the recorded one

For all but dstack, in place of --image: --kernel FILE, --initrd FILE and --cmdline FILE.
For sev-snp and tdx:
  --recorded FILE      compare with the evidence that a machine of this build gave: a document of
                       GET /v1/gateway/attestation, or dstack's GetQuote
For all but boot:
  --name TEXT          the name of the measurement, such as 2026.11
  --pins FILE          pins to add it to (default: new ones)

Exit codes: 0 printed; 1 the files cannot be measured, or the recording differs; 2 wrong command line.
`;

const text = { type: 'string' } as const;
const options = {
  ...{ image: text, kernel: text, initrd: text, cmdline: text, firmware: text, vcpus: text },
  ...{ cpu: text, 'host-data': text, 'guest-features': text },
  ...{ machine: text, memory: text, 'acpi-tables': text },
  ...{ 'app-compose': text, recorded: text, name: text, pins: text },
};

type Option = keyof typeof options;
type Values = { readonly [name in Option]?: string | undefined };

interface Measured {
  readonly shown: object;
  /** What a recording is compared with. */
  readonly pin?: Readonly<Record<string, string>>;
}

interface Kind extends Step<Option> {
  readonly run: (values: Values, files: readonly string[], terminal: Terminal) => Measured;
}

const bootOptions = ['image', 'kernel', 'initrd', 'cmdline'] as const;
const pinOptions = ['name', 'pins'] as const;
const machineOptions = [...bootOptions, ...pinOptions, 'recorded', 'firmware', 'vcpus'] as const;

const kinds: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ['sev-snp', { takes: [...machineOptions, 'cpu', 'host-data', 'guest-features'], run: sevSnpPins }],
  ['tdx', { takes: [...machineOptions, 'machine', 'memory', 'acpi-tables'], run: tdxPins }],
  ['boot', { takes: [...bootOptions, 'memory'], run: bootRegisters }],
  ['dstack', { takes: [...pinOptions, 'app-compose'], run: dstackPins }],
]);

/** Runs `sotto measure KIND`. */
export async function measureCommand(terminal: Terminal, args: readonly string[]): Promise<ExitCode> {
  const { step: kind, values, files } = readStep('measure', args, { options, steps: kinds });
  if (kind.run !== dstackPins) noFiles(files);
  try {
    const { shown, pin } = kind.run(values, files, terminal);
    const agrees = pin === undefined || values.recorded === undefined || compare(terminal, pin, values.recorded);
    terminal.out(`${JSON.stringify(shown, undefined, 2)}\n`);
    return agrees ? 0 : 1;
  } catch (error) {
    if (!(error instanceof MeasureError)) throw error;
    terminal.note(`Cannot measure: ${error.message}.\n`);
    return 1;
  }
}

/** Notes what a recording says otherwise. Returns whether it agrees. */
function compare(terminal: Terminal, pin: Readonly<Record<string, string>>, file: string): boolean {
  const differences = compareWithRecorded(pin, parseJson(readText('--recorded', file)));
  for (const { field, recorded = 'nothing' } of differences) {
    terminal.note(`${field} differs: the recording has ${recorded}.\n`);
  }
  if (differences.length === 0) terminal.note(`The recording agrees: ${Object.keys(pin).join(', ')}.\n`);
  return differences.length === 0;
}

function sevSnpPins(values: Values, _files: readonly string[], terminal: Terminal): Measured {
  const features = values['guest-features'];
  const pin = measureSnp({
    ...bootFiles(values),
    firmware: readBytes('--firmware', need(values, 'firmware')),
    vcpus: wholeNumber('--vcpus', need(values, 'vcpus')),
    cpuType: need(values, 'cpu'),
    guestFeatures: features === undefined ? undefined : wholeNumber('--guest-features', features),
    hostData: values['host-data'],
  });
  const pins = withSnp(pinsToAddTo(values), { ...named(values), ...pin });
  if (Object.keys(pins.gateway.sev_snp?.minimum_tcb ?? {}).length === 0) {
    terminal.note(
      'Add the oldest firmware that you accept to `minimum_tcb`: without it, no machine is shown to be up to date, and no content is sent.\n',
    );
  }
  return { shown: pins, pin };
}

function tdxPins(values: Values): Measured {
  const pin = measureTdx({
    ...bootFiles(values),
    firmware: readBytes('--firmware', need(values, 'firmware')),
    machine: need(values, 'machine'),
    memory: memorySize(need(values, 'memory')),
    acpiTables: readBytes('--acpi-tables', need(values, 'acpi-tables')),
    vcpus: values.vcpus === undefined ? undefined : wholeNumber('--vcpus', values.vcpus),
  });
  return { shown: withTdx(pinsToAddTo(values), { ...named(values), ...pin }), pin };
}

function bootRegisters(values: Values): Measured {
  return { shown: measureBoot({ ...bootFiles(values), memory: memorySize(need(values, 'memory')) }) };
}

function dstackPins(values: Values, files: readonly string[], terminal: Terminal): Measured {
  const file = onlyOne('FILE', files);
  const compose = values['app-compose'];
  const { pin, osImageHash, recordedComposeHash } = measureDstack(
    parseJson(readText('FILE', file)),
    compose === undefined ? undefined : readBytes('--app-compose', compose),
  );
  terminal.note(`OS image ${osImageHash ?? 'not logged'}\n`);
  if (recordedComposeHash !== pin.compose_hash) terminal.note(`The recorded machine ran ${recordedComposeHash}.\n`);
  terminal.note(
    'These are values that a machine reported. Verify the recording, or rebuild the OS image and compare them.\n',
  );
  return { shown: withTdx(pinsToAddTo(values), { ...named(values), ...pin }) };
}

/** Reads the files of a direct boot: those of a folder, or each by its own option. */
function bootFiles({ image, ...values }: Values): BootFiles {
  const [kernel, initrd, cmdline] = (['kernel', 'initrd', 'cmdline'] as const).map((name) => {
    const file = values[name] ?? (image === undefined ? undefined : join(image, name));
    return [`--${name}`, required(`--${name}`, file, 'Pass it, or the folder that has it with --image.')] as const;
  });
  if (kernel === undefined || initrd === undefined || cmdline === undefined) throw new UsageError('Pass --image.');
  return {
    kernel: readBytes(...kernel),
    initrd: hashFile(piecesOf(...initrd)),
    commandLine: readText(...cmdline).replace(/\n$/, ''),
  };
}

const need = (values: Values, option: Option): string =>
  required(`--${option}`, values[option], 'See `sotto measure --help`.');

const named = ({ name }: Values): { readonly name?: string } => (name === undefined ? {} : { name });

const pinsToAddTo = ({ pins }: Values): ClientPins => (pins === undefined ? { gateway: {} } : readPinsFile(pins));

function wholeNumber(option: string, text: string): number {
  const value = /^(?:\d+|0x[0-9a-f]+)$/i.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw new UsageError(`${option} must be a whole number; got "${text}".`);
  return value;
}

function memorySize(text: string): number {
  const [, digits, unit] = /^(\d{1,9})([MG])$/.exec(text) ?? [];
  if (digits === undefined) throw new UsageError(`--memory must be a size such as 4G or 4096M; got "${text}".`);
  return Number(digits) * (unit === 'G' ? 2 ** 30 : 2 ** 20);
}
