import { sha384 } from '@noble/hashes/sha2.js';
import { type Bytes, concatBytes } from '../../bytes.ts';
import { Refusal } from '../../refusal.ts';
import type { DirectBoot } from '../direct-boot.ts';
import { type Firmware, maximumFirmware, numberIn, pageSize, pointedTo } from '../firmware.ts';
import { littleEndian, u16, u64 } from '../little-endian.ts';
import { kernelHashesPage } from './kernel-hashes.ts';
import { resetVector, saveArea } from './save-area.ts';

export interface SnpLaunch {
  readonly firmware: Firmware;
  readonly boot: DirectBoot;
  readonly vcpus: number;
  readonly cpuSignature: number;
  /** SEV_FEATURES of the VMSA: bit 0 is SEV-SNP, bit 5 is debug swap, which some kernels of hosts set. */
  readonly guestFeatures: number;
}

/** Kinds of page in PAGE_INFO (SEV-SNP ABI, SNP_LAUNCH_UPDATE). */
const pageTypes = { normal: 1, vmsa: 2, zero: 3, secrets: 5, cpuid: 6 } as const;
type PageType = keyof typeof pageTypes;

/** Kinds of section that the firmware describes. The last holds the hashes of a direct boot. */
const sectionTypes: ReadonlyMap<number, PageType | 'kernel_hashes'> = new Map([
  [1, 'zero'],
  [2, 'secrets'],
  [3, 'cpuid'],
  // The calling area of an SVSM. Without an SVSM it stays empty.
  [4, 'zero'],
  [0x10, 'kernel_hashes'],
]);

const endOfFirmware = 0x1_0000_0000;
/** VMSA pages have no address in the guest. The hardware measures this one. */
const vmsaAddress = 0xffff_ffff_f000n;
/** More than any host has. */
const maximumVcpus = 4096;

/**
 * Computes the launch digest of a direct boot with QEMU: the `measurement` that SEV-SNP reports (48 bytes). It covers the
 * firmware, the pages that the firmware describes, the hashes of the booted files, and the first state of each processor.
 */
export function launchDigest({ firmware, boot, vcpus, cpuSignature, guestFeatures }: SnpLaunch): Bytes {
  if (!Number.isInteger(vcpus) || vcpus < 1 || vcpus > maximumVcpus) {
    throw new Refusal(`the number of vCPUs is ${vcpus}; it must be from 1 to ${maximumVcpus}`);
  }
  const { bytes } = firmware;
  const digest = new Digest();
  digest.addContent('normal', bytes, endOfFirmware - bytes.length);
  for (const { address, size, type } of sectionsOf(firmware)) {
    if (type === 'kernel_hashes') digest.addContent('normal', kernelHashesPage(boot, hashesAt(firmware)), address);
    else for (let at = 0; at < size; at += pageSize) digest.add(type, address + at);
  }
  const apEntry = vcpus === 1 ? resetVector : numberIn(firmware, '00f771de-1a7e-4fcb-890e-68c77e2fb44e');
  if (apEntry === undefined)
    throw new Refusal('the firmware does not say where further vCPUs start: it is not for SEV-SNP');
  for (let vcpu = 0; vcpu < vcpus; vcpu += 1) {
    const entry = vcpu === 0 ? resetVector : apEntry;
    digest.addContent('vmsa', saveArea({ entry, signature: cpuSignature, guestFeatures }), vmsaAddress);
  }
  return digest.value;
}

/** The digest so far, and the pages that the host adds in order. */
class Digest {
  value: Bytes = new Uint8Array(48);

  add(type: PageType, address: number | bigint, content: Uint8Array = new Uint8Array(48)): void {
    const info = concatBytes(
      this.value,
      content,
      u16(0x70),
      // The kind; then zeros: no migration image, and no rights of VMPL 3, 2 and 1.
      littleEndian(pageTypes[type], 6),
      u64(address),
    );
    this.value = Uint8Array.from(sha384(info));
  }

  /** Adds pages with content, from an address on. */
  addContent(type: PageType, bytes: Bytes, address: number | bigint): void {
    for (let at = 0; at < bytes.length; at += pageSize) {
      this.add(type, BigInt(address) + BigInt(at), sha384(bytes.subarray(at, at + pageSize)));
    }
  }
}

interface Section {
  readonly address: number;
  readonly size: number;
  readonly type: PageType | 'kernel_hashes';
}

/** Reads the sections that the host must measure (OvmfPkg/ResetVector/X64/OvmfSevMetadata.asm of EDK II). */
function sectionsOf(firmware: Firmware): readonly Section[] {
  const reader = pointedTo(firmware, 'dc886566-984a-4798-a75e-5585a7bf67cc', 'the SEV metadata of the firmware');
  if (reader === undefined) throw new Refusal('the firmware has no SEV metadata: it was not built for SEV-SNP');
  if (new TextDecoder().decode(reader.take(4)) !== 'ASEV')
    throw new Refusal('the SEV metadata of the firmware is malformed');
  reader.u32();
  if (reader.u32() !== 1) throw new Refusal('the SEV metadata of the firmware is of an unknown version');
  const sections: Section[] = [];
  for (let count = reader.u32(); count > 0; count -= 1) {
    const [address, size, number] = [reader.u32(), reader.u32(), reader.u32()];
    const type = sectionTypes.get(number);
    if (type === undefined)
      throw new Refusal(`the SEV metadata of the firmware has a section of unknown type ${number}`);
    if (
      address % pageSize !== 0 ||
      size % pageSize !== 0 ||
      size > maximumFirmware ||
      (type === 'kernel_hashes' && size !== pageSize)
    ) {
      throw new Refusal('the SEV metadata of the firmware has a section that is not made of whole pages');
    }
    sections.push({ address, size, type });
  }
  if (!sections.some(({ type }) => type === 'kernel_hashes')) {
    throw new Refusal(
      'the firmware has no page for the hashes of a kernel, so the measurement would not cover the kernel: build OvmfPkg/AmdSev/AmdSevX64.dsc',
    );
  }
  return sections;
}

/** Where in its page the table of hashes is. */
function hashesAt(firmware: Firmware): number {
  const address = numberIn(firmware, '7255371f-3a3b-4b04-927b-1da6efa8d454');
  if (address === undefined) throw new Refusal('the firmware does not say where the hashes of a kernel are');
  return address % pageSize;
}
