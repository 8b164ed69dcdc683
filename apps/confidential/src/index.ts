export type { AttestationMode } from '@sotto/attestation/producers';
export { readConfig } from './config.ts';
export { AttestationError, openAttestation } from './gateway/open-attestation.ts';
export { BrokerMetrics } from './metrics/broker-metrics.ts';
export { builtInRegistry, RegistryFileError } from './registry-file.ts';
export type { Enclaves } from './tee/enclaves.ts';
export { type BrokerOptions, buildBroker } from './wiring.ts';
