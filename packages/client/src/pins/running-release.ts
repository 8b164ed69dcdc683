import { type GatewayVerification, type HardwareVendor, meetsVerdict, vendorByTee } from '@sotto/attestation';
import type { ClientPins } from './client-pins.ts';
import { newestOf, type PinnedRelease, signerOf } from './pinned-release.ts';

/** The releases of a verified broker, as far as the pins know them. */
export interface ReleaseStanding {
  /** The release that the broker runs. Undefined if its pin was made by hand, or its evidence is not genuine. */
  readonly running: PinnedRelease | undefined;
  /** The pinned release that was logged last, by the signer of the running one if that is known. */
  readonly newest: PinnedRelease | undefined;
}

/** Finds the release of the pin that a broker's machine matched. */
export function releasesOf(
  { releases = [] }: ClientPins,
  { pin, verdict }: Pick<GatewayVerification, 'pin' | 'verdict'>,
): ReleaseStanding {
  const isGenuine = meetsVerdict(verdict, 'cryptographically_checked');
  const running = releases.find(({ version }) => isGenuine && version === pin?.release);
  const comparable = releases.filter((each) => running === undefined || signerOf(each) === signerOf(running));
  return { running, newest: newestOf(comparable) };
}

/** Who makes the hardware of evidence. Undefined for simulated evidence. */
export const vendorOf = (teeType: GatewayVerification['teeType']): HardwareVendor | undefined =>
  teeType === undefined || teeType === 'simulated' ? undefined : vendorByTee[teeType];
