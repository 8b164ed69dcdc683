import { Refusal } from '../../refusal.ts';

/** Family, model and stepping of QEMU's processor models for AMD (`builtin_x86_defs`). */
const models: ReadonlyMap<string, readonly [family: number, model: number, stepping: number]> = new Map([
  ['EPYC', [23, 1, 2]],
  ['EPYC-IBPB', [23, 1, 2]],
  ['EPYC-Rome', [23, 49, 0]],
  ['EPYC-Milan', [25, 1, 1]],
  ['EPYC-Genoa', [25, 17, 0]],
  ['EPYC-Turin', [26, 0, 0]],
]);

export const cpuTypes: readonly string[] = [...models.keys()];

/**
 * The signature that a virtual processor has in EDX at its start: CPUID Fn0000_0001_EAX (AMD publication 25481). QEMU's
 * versions of a model, such as `EPYC-Milan-v2`, have the signature of the model.
 */
export function cpuSignature(type: string): number {
  const found = models.get(type.replace(/-v\d+$/, ''));
  if (found === undefined) {
    throw new Refusal(`the CPU type \`${type}\` is not known; the known ones are ${cpuTypes.join(', ')}`);
  }
  const [family, model, stepping] = found;
  return (((family - 15) << 20) | ((model >> 4) << 16) | (15 << 8) | ((model & 15) << 4) | stepping) >>> 0;
}
