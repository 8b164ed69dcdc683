import { sha384 } from '@noble/hashes/sha2.js';
import { type Bytes, concatBytes, fromHex } from '../../bytes.ts';
import { Refusal } from '../../refusal.ts';
import type { DirectBoot } from '../direct-boot.ts';
import { guidBytes } from '../firmware.ts';
import { u64, utf16 } from '../little-endian.ts';
import type { AcpiFiles } from './acpi-tables.ts';
import { authenticode } from './authenticode.ts';
import { handOffBlock } from './hand-off-block.ts';
import { loadedKernel } from './loaded-kernel.ts';
import type { MemoryMap } from './memory-map.ts';
import type { TdSection } from './td-sections.ts';

/** The value of a register after events, each given by its digest: 48 bytes. */
export const extended = (digests: readonly Uint8Array[]): Bytes =>
  digests.reduce<Bytes>((value, digest) => Uint8Array.from(sha384(concatBytes(value, digest))), new Uint8Array(48));

const text = (words: string): Uint8Array => sha384(new TextEncoder().encode(words));
const separator = sha384(new Uint8Array(4));
const [globalVariables, imageSecurity] = [
  '8be4df61-93ca-11d2-aa0d-00e098032b8c',
  'd719b2cb-3d3a-4596-a3bc-dad00e67656f',
];
/** `Boot0000`, OVMF's own menu: the only boot option of a firmware without stored variables. */
const menu = [
  '090100002c0055006900410070007000000004071400c9bdb87cebf8344faaea3ee4af6516a1',
  '0406140021aa2c4614760345836e8ab6f46623317fff0400',
].join('');

/** The digests of ACPI's files, where a recorded event log has them. */
export type AcpiDigests = { readonly [name in keyof AcpiFiles]: Uint8Array };

export const acpiDigests = ({ loader, rsdp, tables }: AcpiFiles): AcpiDigests => ({
  ...{ loader: sha384(loader), rsdp: sha384(rsdp), tables: sha384(tables) },
});

/**
 * The events of RTMR0: the memory, the variables of Secure Boot, which are empty, the devices as ACPI describes them, and the
 * boot options. This is the order of OVMF before edk2-stable202505.
 */
export function platformEvents(sections: readonly TdSection[], memory: MemoryMap, acpi: AcpiDigests): Uint8Array[] {
  const configuration = sections.find(({ type }) => type === 'configuration');
  if (configuration === undefined) throw new Refusal('the TDX metadata of the firmware has no configuration volume');
  return [
    sha384(handOffBlock(sections, memory)),
    sha384(configuration.content),
    ...['SecureBoot', 'PK', 'KEK'].map((name) => emptyVariable(globalVariables, name)),
    ...['db', 'dbx'].map((name) => emptyVariable(imageSecurity, name)),
    separator,
    ...[acpi.loader, acpi.rsdp, acpi.tables],
    // BootOrder, then the option that it names.
    ...[sha384(new Uint8Array(2)), sha384(fromHex(menu, 'Boot0000'))],
  ];
}

/** The events of RTMR1: the kernel, and the way to it. */
export function kernelEvents({ kernel, initrd }: DirectBoot, memory: MemoryMap): Uint8Array[] {
  return [
    authenticode(loadedKernel(kernel, initrd.length, memory)),
    text('Calling EFI Application from Boot Option'),
    separator,
    text('Exit Boot Services Invocation'),
    text('Exit Boot Services Returned with Success'),
  ];
}

/** The events of RTMR2, which the kernel measures when the firmware starts it. The firmware appends the name of the initrd. */
export function commandLineEvents({ initrd, commandLine }: DirectBoot): Uint8Array[] {
  return [sha384(utf16(`${commandLine} initrd=initrd\0`)), initrd.sha384];
}

const emptyVariable = (vendor: string, name: string): Uint8Array =>
  sha384(concatBytes(guidBytes(vendor), u64(name.length), u64(0), utf16(name)));
