// Node only: how a machine comes by evidence about itself. Verifiers are behind the package's main door.
export {
  type AttestationMode,
  attestationModes,
  chooseProducer,
  type MachineAbilities,
  type ProducerChoice,
} from './choose.ts';
export { type ConfigfsOptions, configfsSource, nodeFiles, type ReportFiles } from './configfs.ts';
export { type DstackOptions, dstackSource } from './dstack.ts';
export { hardwareProducer, type MachineReport, type ReportSource } from './hardware.ts';
export { openProducer } from './open.ts';
export { probeMachine } from './probe.ts';
export { EvidenceError, type EvidenceProducer } from './producer.ts';
export { type ProviderVendors, providerVendors } from './provider-vendors.ts';
export { simulatedProducer } from './simulated.ts';
export { VendorDocuments, type VendorOptions } from './vendor-documents.ts';
