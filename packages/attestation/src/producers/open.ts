import type { ProducerChoice } from './choose.ts';
import { configfsSource } from './configfs.ts';
import { dstackSource } from './dstack.ts';
import { hardwareProducer } from './hardware.ts';
import type { EvidenceProducer } from './producer.ts';
import { simulatedProducer } from './simulated.ts';
import { VendorDocuments, type VendorOptions } from './vendor-documents.ts';

/** Opens a producer that was chosen. Nothing is asked of the machine or the vendors before the first evidence. */
export async function openProducer(
  choice: Extract<ProducerChoice, { kind: 'simulated' | 'configfs' | 'dstack' }>,
  vendors: VendorOptions,
): Promise<EvidenceProducer> {
  switch (choice.kind) {
    case 'simulated':
      return simulatedProducer();
    case 'configfs':
      return hardwareProducer(configfsSource({ directory: choice.directory }), new VendorDocuments(vendors));
    case 'dstack':
      return hardwareProducer(dstackSource({ socketPath: choice.socketPath }), new VendorDocuments(vendors));
    default:
      return choice satisfies never;
  }
}
