import { describe, expect, it } from 'vitest';
import { concatBytes } from '../../bytes.ts';
import { vectorBytes, vectorInflated } from '../../testing/vectors.ts';
import { acpiFiles, vcpusIn } from './acpi-tables.ts';

const tables = vectorInflated('measure/qemu_q35_2_vcpus_tables');
const ascii = (text: string) => new TextEncoder().encode(text);
/** The tables with the name of one changed. */
const renamed = (from: string, to: string) => {
  const copy = Uint8Array.from(tables);
  copy.set(ascii(to), Buffer.from(copy).indexOf(from));
  return copy;
};

describe('the files about ACPI', () => {
  it.each([2, 8])('are derived from the tables as QEMU writes them, for a machine with %i vCPUs', (vcpus) => {
    const name = `measure/qemu_q35_${vcpus}_vcpus`;
    const derived = acpiFiles(vectorInflated(`${name}_tables`));
    expect(derived.loader).toEqual(vectorInflated(`${name}_loader`));
    expect(derived.rsdp).toEqual(vectorBytes(`${name}_rsdp.bin`));
    expect(vcpusIn(derived.tables)).toBe(vcpus);
  });

  it.each([
    ['no tables', new Uint8Array(), 'must have one table DSDT'],
    ['another file', ascii('#!/bin/sh\necho something else\n'.padEnd(64)), "it is not QEMU's etc/acpi/tables"],
    ['tables that are cut', tables.subarray(0, 5000), 'has no table at byte 64'],
    ['a table twice', renamed('WAET', 'FACP'), 'must have one table FACP'],
    ['a table whose loader commands are not known', renamed('WAET', 'TPM2'), 'have a table TPM2'],
    [
      'a table that the RSDT does not list',
      concatBytes(tables.subarray(0, 8578), tables.subarray(8490, 8578)),
      'must have one table RSDT',
    ],
  ])('are refused with %s', (_, file, message) => {
    expect(() => acpiFiles(file)).toThrow(message);
  });
});
