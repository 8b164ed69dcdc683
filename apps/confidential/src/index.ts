export { composeBroker, readRegistryFile } from './compose-broker.ts';
export { AttestationError, openAttestation } from './gateway/open-attestation.ts';
export { BrokerMetrics } from './metrics/broker-metrics.ts';
export { builtInRegistry } from './registry-file.ts';
export type { Enclaves } from './tee/enclaves.ts';
export { type BrokerOptions, buildBroker } from './wiring.ts';
