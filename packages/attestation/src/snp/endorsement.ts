import { type Bytes, sameBytes } from '../bytes.ts';
import { type SnpProduct, snpProducts } from '../pinned-roots.ts';
import { Refusal } from '../refusal.ts';
import type { Certificate } from '../x509/certificate.ts';
import { derSmallInteger, derTag, readDer } from '../x509/der.ts';
import type { MinimumTcb, SnpTcb } from './report.ts';

/** AMD's certification of the key that signed a report: a chip's (VCEK) or a hoster's (VLEK). */
export interface Endorsement {
  readonly kind: 'vcek' | 'vlek';
  readonly product: SnpProduct;
  readonly tcb: SnpTcb;
  /** The chip that the key belongs to: 64 bytes, or 8 from Turin on. VCEK only. */
  readonly hardwareId: Bytes | undefined;
}

const arc = '1.3.6.1.4.1.3704.1';
const names = {
  product: `${arc}.2`,
  bootloader: `${arc}.3.1`,
  tee: `${arc}.3.2`,
  snp: `${arc}.3.3`,
  microcode: `${arc}.3.8`,
  fmc: `${arc}.3.9`,
  hardwareId: `${arc}.4`,
  hoster: `${arc}.5`,
} as const;

/** Reads AMD's extensions of a VCEK or VLEK certificate (AMD document 57230, tables 8 and 9). */
export function readEndorsement(certificate: Certificate): Endorsement {
  const value = (name: string): Bytes => {
    const extension = certificate.extensions.get(name);
    if (extension === undefined) throw new Refusal(`the endorsement key's certificate has no extension ${name}`);
    return extension.value;
  };
  const number = (name: string): number => derSmallInteger(readDer(value(name), derTag.integer));
  const product = productOf(new TextDecoder().decode(readDer(value(names.product), derTag.ia5String).content));
  return {
    kind: kindOf(certificate),
    product,
    tcb: {
      fmc: product === 'turin' ? number(names.fmc) : undefined,
      bootloader: number(names.bootloader),
      tee: number(names.tee),
      snp: number(names.snp),
      microcode: number(names.microcode),
    },
    // Raw bytes, not DER. Confusing the two would make the comparison meaningless.
    hardwareId: certificate.extensions.get(names.hardwareId)?.value,
  };
}

function kindOf(certificate: Certificate): Endorsement['kind'] {
  const kind = { 'SEV-VCEK': 'vcek', 'SEV-VLEK': 'vlek' } as const;
  const found = Object.entries(kind).find(([name]) => name === certificate.commonName)?.[1];
  if (found === undefined) throw new Refusal('the certificate is of no endorsement key (VCEK or VLEK)');
  if (certificate.extensions.has(found === 'vcek' ? names.hoster : names.hardwareId)) {
    throw new Refusal("the certificate is of a chip's key and of a hoster's at once");
  }
  if (found === 'vlek' && !certificate.extensions.has(names.hoster)) {
    throw new Refusal("the hoster's key names no hoster");
  }
  return found;
}

/** Accepts `Milan-B0` as well as `Genoa`: the stepping is not part of the line. */
function productOf(name: string): SnpProduct {
  const line = name.split('-')[0]?.toLowerCase();
  const product = snpProducts.find((candidate) => candidate === line);
  if (product === undefined) throw new Refusal('the endorsement key is of a processor line that is not accepted');
  return product;
}

/** The line that CPUID names. Siena and Bergamo count as Genoa. Source: AMD document 56860, table 4. */
export function productOfCpu(cpu: { readonly family: number; readonly model: number }): SnpProduct | undefined {
  if (cpu.family === 0x19) return cpu.model <= 0x0f ? 'milan' : isGenoa(cpu.model) ? 'genoa' : undefined;
  return cpu.family === 0x1a && cpu.model <= 0x1f ? 'turin' : undefined;
}

function isGenoa(model: number): boolean {
  return (model >= 0x10 && model <= 0x1f) || (model >= 0xa0 && model <= 0xaf);
}

export function sameTcb(left: SnpTcb, right: SnpTcb): boolean {
  return (
    left.fmc === right.fmc &&
    left.bootloader === right.bootloader &&
    left.tee === right.tee &&
    left.snp === right.snp &&
    left.microcode === right.microcode
  );
}

const signerKinds = ['vcek', 'vlek'] as const;

/** The kind of key that signed a report, according to the report (bits 2 to 4 of its signer information). */
export function signerOf(signerInfo: number): Endorsement['kind'] | undefined {
  return signerKinds[(signerInfo >>> 2) & 0b111];
}

/** Whether every part of `tcb` is at least as new as `minimum` requires. */
export function tcbReaches(tcb: SnpTcb, minimum: MinimumTcb): boolean {
  return (['fmc', 'bootloader', 'tee', 'snp', 'microcode'] as const).every(
    (part) => minimum[part] === undefined || (tcb[part] ?? -1) >= minimum[part],
  );
}

/** Whether a chip id in a report is the one that the key was certified for. On Turin it is 8 bytes, then zeros. */
export function isChip(chipId: Bytes, hardwareId: Bytes): boolean {
  const padded = new Uint8Array(chipId.length);
  if (hardwareId.length !== 64 && hardwareId.length !== 8) return false;
  padded.set(hardwareId);
  return sameBytes(chipId, padded);
}
