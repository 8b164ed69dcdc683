import type { GatewayPins } from '@sotto/attestation';
import type { ClientPins } from './client-pins.ts';

type Tdx = NonNullable<GatewayPins['tdx']>;
type Snp = NonNullable<GatewayPins['sev_snp']>;

/** The oldest evaluation by Intel that new pins accept. */
const evaluationNumber = 19;

/** Adds a TDX machine to pins. */
export function withTdx({ gateway, ...pins }: ClientPins, machine: Tdx['measurements'][number]): ClientPins {
  const { measurements = [], minimum_evaluation_number = evaluationNumber, ...policy } = gateway.tdx ?? {};
  const tdx = { measurements: [...measurements, machine], minimum_evaluation_number, ...policy };
  return { ...pins, gateway: { ...gateway, tdx } };
}

/** Adds a SEV-SNP machine to pins. Until they name a minimum TCB, no machine is more than `cryptographically_checked`. */
export function withSnp({ gateway, ...pins }: ClientPins, machine: Snp['measurements'][number]): ClientPins {
  const { measurements = [], minimum_tcb = {}, ...policy } = gateway.sev_snp ?? {};
  return {
    ...pins,
    gateway: { ...gateway, sev_snp: { measurements: [...measurements, machine], minimum_tcb, ...policy } },
  };
}
