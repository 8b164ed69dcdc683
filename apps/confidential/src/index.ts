export { builtInRegistry } from './built-in-registry.ts';
export { type Broker, type BrokerOptions, buildBroker, RegistryFileError } from './wiring.ts';
