import { Refusal } from '../../refusal.ts';
import type { PageOrder } from './mr-td.ts';

/**
 * The virtual machine monitors whose registers are known. A recorded quote confirms each. Both need firmware before
 * edk2-stable202505: later firmware also measures addresses that it chooses while it runs.
 */
const machines: ReadonlyMap<string, PageOrder> = new Map([
  // QEMU 8 with Intel's patches for TDX adds all pages of a section before it measures their content.
  ['qemu-8', 'pages_first'],
  // QEMU 9 and later.
  ['qemu-9', 'page_by_page'],
]);

export const tdxMachines: readonly string[] = [...machines.keys()];

export function pageOrderOf(machine: string): PageOrder {
  const order = machines.get(machine);
  if (order === undefined) {
    throw new Refusal(`the machine \`${machine}\` is not known; the known ones are ${tdxMachines.join(', ')}`);
  }
  return order;
}
