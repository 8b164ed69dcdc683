import { ByteReader, type Bytes, concatBytes } from '../../bytes.ts';
import { Refusal } from '../../refusal.ts';
import { littleEndian, u32 } from '../little-endian.ts';

/** QEMU's three files about ACPI, in the order in which the firmware measures them. */
export interface AcpiFiles {
  /** `etc/table-loader`: how the firmware places the tables in memory. */
  readonly loader: Bytes;
  /** `etc/acpi/rsdp`. */
  readonly rsdp: Bytes;
  /** `etc/acpi/tables`. */
  readonly tables: Bytes;
}

interface Table {
  readonly kind: string;
  readonly offset: number;
  readonly length: number;
}

const maximumTables = 0x40_0000;
const [tablesFile, rsdpFile] = ['etc/acpi/tables', 'etc/acpi/rsdp'];
/** Tables without commands of their own in the loader file. */
const plainTables = ['APIC', 'HPET', 'MCFG', 'WAET', 'SRAT', 'SLIT', 'HMAT', 'DMAR', 'VIOT'];
const headerLength = 36;

/**
 * Derives QEMU's other two files from `etc/acpi/tables` (a guest shows it at
 * `/sys/firmware/qemu_fw_cfg/by_name/etc/acpi/tables/raw`).
 */
export function acpiFiles(tables: Bytes): AcpiFiles {
  const list = tablesIn(tables);
  const only = (kind: string): Table => {
    const [found, second] = list.filter((table) => table.kind === kind);
    if (found === undefined || second !== undefined) throw new Refusal(`the ACPI tables must have one table ${kind}`);
    return found;
  };
  const [dsdt, facp, rsdt] = [only('DSDT'), only('FACP'), only('RSDT')];
  const others = list.filter(({ kind }) => !['FACS', 'DSDT', 'FACP', 'RSDT'].includes(kind));
  const strange = others.find(({ kind }) => !plainTables.includes(kind));
  if (strange !== undefined) {
    throw new Refusal(`the ACPI tables have a table ${strange.kind}, for which the loader file is not known`);
  }
  if (rsdt.length !== headerLength + 4 * (others.length + 1)) {
    throw new Refusal('the RSDT does not list every ACPI table');
  }
  const commands = [
    allocate(rsdpFile, 16, 2),
    allocate(tablesFile, 64, 1),
    checksum(dsdt),
    // The FACP points to the FACS and the DSDT.
    ...[pointer(facp.offset + 36, 4), pointer(facp.offset + 40, 4), pointer(facp.offset + 140, 8)],
    checksum(facp),
    ...others.map(checksum),
    ...[facp, ...others].map((_, index) => pointer(rsdt.offset + headerLength + 4 * index, 4)),
    checksum(rsdt),
    pointerIn(rsdpFile, 16, 4),
    checksumIn(rsdpFile, { result: 8, start: 0, length: 20 }),
  ];
  return {
    loader: padded(concatBytes(...commands)),
    // Signature, no checksum yet, QEMU's name, revision 0, and the offset of the RSDT.
    rsdp: concatBytes(ascii('RSD PTR '), new Uint8Array(1), ascii('BOCHS '), new Uint8Array(1), u32(rsdt.offset)),
    tables,
  };
}

/** The number of processors in the tables: the enabled local APICs of the table APIC. */
export function vcpusIn(tables: Bytes): number {
  const apic = tablesIn(tables).find(({ kind }) => kind === 'APIC');
  if (apic === undefined) throw new Refusal('the ACPI tables must have one table APIC');
  const reader = new ByteReader(tables.subarray(apic.offset, apic.offset + apic.length), 'the table APIC');
  reader.take(headerLength + 8);
  let count = 0;
  while (reader.remaining > 0) {
    const [kind = 0, length = 0] = reader.take(2);
    const body = reader.take(Math.max(0, length - 2));
    // Local APICs (0) and x2APICs (9) have their flags at bytes 4 and 8.
    const flags = kind === 0 ? body[2] : kind === 9 ? body[6] : 0;
    count += (flags ?? 0) & 1;
  }
  return count;
}

/** The tables one after the other. Zeros follow the last. */
function tablesIn(tables: Bytes): readonly Table[] {
  if (tables.length > maximumTables) throw new Refusal('the ACPI tables are too large');
  const list: Table[] = [];
  for (let offset = 0; offset + 8 <= tables.length; ) {
    const kind = String.fromCharCode(...tables.subarray(offset, offset + 4));
    if (kind === '\0\0\0\0') break;
    const length = new ByteReader(tables.subarray(offset + 4, offset + 8), 'the ACPI tables').u32();
    if (!/^[A-Z0-9_]{4}$/.test(kind) || length < headerLength || offset + length > tables.length) {
      throw new Refusal(`the file of ACPI tables has no table at byte ${offset}: it is not QEMU's etc/acpi/tables`);
    }
    list.push({ kind, offset, length });
    offset += length;
  }
  return list;
}

const ascii = (text: string): Bytes => new TextEncoder().encode(text);
const resized = (bytes: Bytes, length: number): Bytes => concatBytes(bytes, new Uint8Array(length - bytes.length));
/** QEMU reserves a page for the commands, and more only if they need it. */
const padded = (commands: Bytes): Bytes => resized(commands, Math.max(0x1000, commands.length));
const name = (file: string): Bytes => resized(ascii(file), 56);
/** A command of the loader (`BiosLinkerLoaderEntry` of QEMU): 128 bytes. */
const command = (kind: number, ...parts: readonly Bytes[]): Bytes => resized(concatBytes(u32(kind), ...parts), 128);
const allocate = (file: string, alignment: number, zone: number): Bytes =>
  command(1, name(file), u32(alignment), littleEndian(zone, 1));
const pointerIn = (file: string, offset: number, size: number): Bytes =>
  command(2, name(file), name(tablesFile), u32(offset), littleEndian(size, 1));
const pointer = (offset: number, size: number): Bytes => pointerIn(tablesFile, offset, size);
const checksumIn = (
  file: string,
  at: { readonly result: number; readonly start: number; readonly length: number },
): Bytes => command(3, name(file), u32(at.result), u32(at.start), u32(at.length));
const checksum = ({ offset, length }: Table): Bytes =>
  checksumIn(tablesFile, { result: offset + 9, start: offset, length });
