export { type AttestationMode, attestationModes } from '@sotto/attestation/producers';
export { builtInRegistry } from './built-in-registry.ts';
export { AttestationError, openProducer } from './gateway/open-producer.ts';
export { type Broker, type BrokerOptions, buildBroker, RegistryFileError } from './wiring.ts';
