export { composeBroker, readRegistryFile } from './compose-broker.ts';
export { AttestationError, openAttestation } from './gateway/open-attestation.ts';
export { BrokerMetrics } from './metrics/broker-metrics.ts';
export type { Enclaves } from './tee/enclaves.ts';
export { type BrokerOptions, buildBroker, builtInRegistry } from './wiring.ts';
