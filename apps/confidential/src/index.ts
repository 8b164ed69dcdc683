export { type AttestationMode, attestationModes } from '@sotto/attestation/producers';
export { builtInRegistry } from './built-in-registry.ts';
export { readConfig } from './config.ts';
export { AttestationError, openAttestation } from './gateway/open-attestation.ts';
export { BrokerMetrics } from './metrics/broker-metrics.ts';
export type { Enclaves } from './tee/enclaves.ts';
export type { VerificationEngine } from './tee/verification-engine.ts';
export { type Broker, type BrokerOptions, buildBroker, RegistryFileError } from './wiring.ts';
