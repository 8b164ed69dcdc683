import { type Bytes, toHex } from '../bytes.ts';
import { Refusal } from '../refusal.ts';
import type { Certificate } from '../x509/certificate.ts';
import {
  type DerElement,
  derChildren,
  derObjectIdentifier,
  derSmallInteger,
  derTag,
  expectTag,
  readDer,
} from '../x509/der.ts';

/** Intel's certification of a platform in its PCK certificate. Hex is lower case. */
export interface PckPlatform {
  /** Identifies the processor: 16 bytes in hex. */
  readonly ppid: string;
  /** Family, model, stepping and platform: 6 bytes in hex. */
  readonly fmspc: string;
  readonly pceId: string;
  /** The 16 components of CPUSVN. */
  readonly cpuSvn: readonly number[];
  readonly pceSvn: number;
}

const sgx = '1.2.840.113741.1.13.1';

/** Reads Intel's SGX extension of a PCK certificate (Intel PCK certificate profile 1.3.5). */
export function pckPlatformOf(certificate: Certificate): PckPlatform {
  const extension = certificate.extensions.get(sgx);
  if (extension === undefined) throw new Refusal('the PCK certificate has no SGX extension');
  const fields = fieldsOf(readDer(extension.value, derTag.sequence));
  const tcb = fieldsOf(expectTag(fields.get(`${sgx}.2`), derTag.sequence));
  return {
    ppid: toHex(octets(fields.get(`${sgx}.1`), 16)),
    fmspc: toHex(octets(fields.get(`${sgx}.4`), 6)),
    pceId: toHex(octets(fields.get(`${sgx}.3`), 2)),
    cpuSvn: Array.from({ length: 16 }, (_, index) => derSmallInteger(tcb.get(`${sgx}.2.${index + 1}`))),
    pceSvn: derSmallInteger(tcb.get(`${sgx}.2.17`)),
  };
}

/** A SEQUENCE of pairs of name and value. */
function fieldsOf(sequence: DerElement): Map<string, DerElement> {
  const fields = new Map<string, DerElement>();
  for (const pair of derChildren(sequence)) {
    const [name, value] = derChildren(expectTag(pair, derTag.sequence));
    const identifier = derObjectIdentifier(name);
    if (value === undefined || fields.has(identifier)) throw new Refusal('the SGX extension has a bad form');
    fields.set(identifier, value);
  }
  return fields;
}

function octets(element: DerElement | undefined, length: number): Bytes {
  const { content } = expectTag(element, derTag.octetString);
  if (content.length !== length) throw new Refusal('the SGX extension has a value of the wrong length');
  return content;
}
