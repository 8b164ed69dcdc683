export { type AttestationMode, attestationModes } from '@sotto/attestation/producers';
export { builtInRegistry } from './built-in-registry.ts';
export { AttestationError, openAttestation } from './gateway/open-attestation.ts';
export { type Broker, type BrokerOptions, buildBroker, RegistryFileError } from './wiring.ts';
