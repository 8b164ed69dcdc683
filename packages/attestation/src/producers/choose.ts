/** What ATTESTATION takes (design 6). */
export const attestationModes = ['auto', 'configfs', 'dstack', 'simulated', 'off'] as const;
export type AttestationMode = (typeof attestationModes)[number];

/** What a machine has that could vouch for it. Paths; undefined where there is none. */
export interface MachineAbilities {
  /** The directory in which reports are made: configfs-tsm. */
  readonly configfs: string | undefined;
  /** The socket of dstack's guest agent. */
  readonly dstack: string | undefined;
  /** A device of a confidential guest. */
  readonly device: string | undefined;
}

export type ProducerChoice =
  | { readonly kind: 'off' }
  | { readonly kind: 'simulated' }
  | { readonly kind: 'configfs'; readonly directory: string }
  | { readonly kind: 'dstack'; readonly socketPath: string }
  /** Why the mode cannot be had here, to follow "ATTESTATION is `…`: ". */
  | { readonly kind: 'refused'; readonly reason: string };

const refused = (reason: string): ProducerChoice => ({ kind: 'refused', reason });

/**
 * Which producer serves a mode on a machine. Simulation is never a fallback in production or inside real hardware, where
 * somebody might take it for evidence; and hardware vouches for nothing that is not held to what production asks for.
 */
export function chooseProducer(
  mode: AttestationMode,
  abilities: MachineAbilities,
  isProduction: boolean,
): ProducerChoice {
  const { configfs, dstack } = abilities;
  const vouched = (choice: ProducerChoice): ProducerChoice => (isProduction ? choice : refused(outsideProduction));
  switch (mode) {
    case 'off':
      return { kind: 'off' };
    case 'configfs':
      return configfs === undefined
        ? refused('this machine has no /sys/kernel/config/tsm/report (a TDX or SEV-SNP guest with Linux 6.7 or later)')
        : vouched({ kind: 'configfs', directory: configfs });
    case 'dstack':
      return dstack === undefined
        ? refused('this machine has no socket of a dstack guest agent, such as /var/run/dstack.sock')
        : vouched({ kind: 'dstack', socketPath: dstack });
    case 'simulated':
      return chooseSimulated(abilities, isProduction);
    case 'auto':
      if (configfs !== undefined) return vouched({ kind: 'configfs', directory: configfs });
      if (dstack !== undefined) return vouched({ kind: 'dstack', socketPath: dstack });
      return chooseSimulated(abilities, isProduction);
    default:
      return mode satisfies never;
  }
}

const outsideProduction =
  'hardware vouches only for a broker with NODE_ENV=production, whose flags and dumps are looked at; set it, or take `off`';

function chooseSimulated({ device }: MachineAbilities, isProduction: boolean): ProducerChoice {
  if (isProduction) {
    return refused(
      'evidence is not simulated with NODE_ENV=production; it takes a machine with configfs-tsm or dstack, or `off`',
    );
  }
  if (device !== undefined) {
    return refused(
      `evidence is not simulated where real hardware is (${device}); it takes configfs, dstack or \`off\``,
    );
  }
  return { kind: 'simulated' };
}
