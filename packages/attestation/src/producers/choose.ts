import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ownBytes, toBase64 } from '../bytes.ts';
import { encodeSimulatedEvidence } from '../simulated/simulated.ts';
import { configfsSource } from './configfs.ts';
import { dstackSource } from './dstack.ts';
import { hardwareProducer } from './hardware.ts';
import type { EvidenceProducer } from './producer.ts';
import { VendorDocuments, type VendorOptions } from './vendor-documents.ts';

/** Where evidence comes from. `auto` takes the first source that the machine has. */
export type AttestationMode = 'auto' | 'configfs' | 'dstack' | 'simulated' | 'off';

/** The interfaces of a machine that can produce evidence, as paths. Undefined if missing. */
export interface MachineAbilities {
  /** The directory in which reports are created: configfs-tsm. */
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
  /** Why the mode is unavailable on this machine. Follows "ATTESTATION is `…`: ". */
  | { readonly kind: 'refused'; readonly reason: string };

const refused = (reason: string): ProducerChoice => ({ kind: 'refused', reason });

/**
 * Chooses the producer for a mode on a machine. Simulation is never a fallback in production or inside real hardware,
 * where it could be mistaken for evidence. Hardware modes need NODE_ENV=production, because only then does the broker
 * check its own flags and core dumps.
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

const configfs = 'sys/kernel/config/tsm/report';
const sockets = ['var/run/dstack.sock', 'run/dstack.sock', 'var/run/dstack/dstack.sock'];
const devices = ['dev/tdx_guest', 'dev/tdx-guest', 'dev/sev-guest'];

/** Finds the interfaces of a machine. `root` is the root of its file system. */
export async function probeMachine(root = '/'): Promise<MachineAbilities> {
  const [directory, socket, device] = await Promise.all([
    first(root, [configfs], 'isDirectory'),
    first(root, sockets, 'isSocket'),
    first(root, devices, 'isCharacterDevice'),
  ]);
  return { configfs: directory, dstack: socket, device };
}

async function first(
  root: string,
  candidates: readonly string[],
  kind: 'isDirectory' | 'isSocket' | 'isCharacterDevice',
): Promise<string | undefined> {
  for (const candidate of candidates) {
    const path = join(root, candidate);
    const found = await stat(path).then(
      (entry) => entry[kind](),
      () => false,
    );
    if (found) return path;
  }
  return undefined;
}

/** Opens the chosen producer. It does not contact the machine or the vendors before the first evidence. */
export async function openProducer(
  choice: Extract<ProducerChoice, { kind: 'simulated' | 'configfs' | 'dstack' }>,
  vendors: VendorOptions,
): Promise<EvidenceProducer> {
  switch (choice.kind) {
    case 'simulated':
      return simulatedProducer();
    case 'configfs':
      return hardwareProducer(configfsSource({ directory: choice.directory }), new VendorDocuments(vendors));
    case 'dstack':
      return hardwareProducer(dstackSource({ socketPath: choice.socketPath }), new VendorDocuments(vendors));
    default:
      return choice satisfies never;
  }
}

/**
 * A producer for development, with a new key for each instance. Its evidence has its own type, magic and purposes, and
 * verifies as `untrusted`.
 */
export async function simulatedProducer(): Promise<EvidenceProducer> {
  const pair = await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']);
  if (!('privateKey' in pair)) throw new Error('Ed25519 makes key pairs');
  const publicKey = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey));
  return {
    kind: 'simulated',
    async produce(statement) {
      const signed = ownBytes(statement, 'the statement', 4096);
      const signature = new Uint8Array(await crypto.subtle.sign('Ed25519', pair.privateKey, signed));
      return {
        tee_type: 'simulated',
        simulated: true,
        simulated_evidence: toBase64(encodeSimulatedEvidence(publicKey, signature)),
      };
    },
    async refresh() {},
  };
}
