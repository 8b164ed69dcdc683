// For Node only: producers of a machine's evidence about itself. Verifiers are in the package's main entry.
export {
  type AttestationMode,
  chooseProducer,
  type MachineAbilities,
  openProducer,
  type ProducerChoice,
  probeMachine,
  simulatedProducer,
} from './choose.ts';
export { type ConfigfsOptions, configfsSource, nodeFiles, type ReportFiles } from './configfs.ts';
export { type DstackOptions, dstackSource } from './dstack.ts';
export { hardwareProducer, type MachineReport, type ReportSource } from './hardware.ts';
export { EvidenceError, type EvidenceProducer } from './producer.ts';
export { type ProviderVendors, providerVendors, VendorDocuments, type VendorOptions } from './vendor-documents.ts';
