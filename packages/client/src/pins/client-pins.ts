import type { GatewayPins } from '@sotto/attestation';
import type { EnclavePins } from './enclave-pins.ts';
import shipped from './pins.json' with { type: 'json' };

/** What this client accepts. It comes with the client or from its user, and never from the service that is verified. */
export interface ClientPins {
  readonly gateway: GatewayPins;
  /** Of providers' enclaves, by the provider's public id. */
  readonly providers?: Readonly<Record<string, EnclavePins>> | undefined;
}

/** The pins of this build: the measurements of the releases that were known when it was made. */
export const shippedPins: ClientPins = shipped;

/** Whether any machine could pass. */
export const hasMeasurements = ({ gateway }: ClientPins): boolean =>
  gateway.tdx !== undefined || gateway.sev_snp !== undefined;
