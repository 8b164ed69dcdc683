// For Node only: producers of a machine's evidence about itself. Verifiers are in the package's main entry.
export { type AttestationMode, chooseProducer, openProducer, probeMachine, simulatedProducer } from './choose.ts';
export { configfsSource, nodeFiles, type ReportFiles } from './configfs.ts';
export { dstackSource } from './dstack.ts';
export { hardwareProducer } from './hardware.ts';
export { EvidenceError, type EvidenceProducer } from './producer.ts';
export { type ProviderVendors, providerVendors, VendorDocuments } from './vendor-documents.ts';
