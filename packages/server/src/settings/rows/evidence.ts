import * as z from 'zod';
import { baseUrl, file, httpsOrigin } from '../kinds.ts';
import { broker } from '../row.ts';

/** The values of ATTESTATION (docs/operate/confidential-vm.md). */
export const attestationModes = ['auto', 'configfs', 'dstack', 'simulated', 'off'] as const;

/** How the broker proves itself, and where it gets its secrets for that. */
export const evidenceRows = [
  broker('KEEPER_ORIGIN', 'broker.keeper.origin', {
    kind: httpsOrigin,
    early: true,
    describe: 'Keeper that releases the secrets once the broker has proven itself. Set `KEEPER_CA_FILE` with it.',
  }),
  broker('KEEPER_CA_FILE', 'broker.keeper.ca_file', {
    kind: file,
    early: true,
    describe: "Certificates, as PEM, that the keeper's own certificate may be signed by.",
  }),
  broker('ATTESTATION', 'broker.attestation', {
    kind: z.enum(attestationModes, { error: `takes ${attestationModes.slice(0, -1).join(', ')} or off` }),
    default: 'auto',
    early: true,
    describe: 'Source of the evidence about this broker. `auto` takes the first that the machine has.',
  }),
  broker('ATTESTATION_COLLATERAL_URL', 'broker.attestation_collateral_url', {
    kind: baseUrl,
    early: true,
    describe:
      'Mirror (PCCS) to load collateral for TDX quotes from. The default is Intel. Signatures make any mirror safe.',
  }),
];
