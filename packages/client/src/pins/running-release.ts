import { type GatewayVerification, type HardwareVendor, meetsVerdict } from '@sotto/attestation';
import type { ClientPins } from './client-pins.ts';
import { newestRelease, type PinnedRelease } from './pinned-release.ts';

/** The releases of a verified broker, as far as the pins know them. */
export interface ReleaseStanding {
  /** The release that the broker runs. Undefined if its pin was made by hand, or its evidence is not genuine. */
  readonly running: PinnedRelease | undefined;
  /** The release that was logged last, of those that are pinned. */
  readonly newest: PinnedRelease | undefined;
}

/** Finds the release of the pin that a broker's machine matched. */
export function releasesOf(
  { releases = [] }: ClientPins,
  { pin, verdict }: Pick<GatewayVerification, 'pin' | 'verdict'>,
): ReleaseStanding {
  const isGenuine = meetsVerdict(verdict, 'cryptographically_checked');
  const running = releases.find(({ version }) => isGenuine && version === pin?.release);
  return { running, newest: newestRelease(releases) };
}

/** Who makes the hardware of evidence. Undefined for simulated evidence. */
export const vendorOf = (teeType: GatewayVerification['teeType']): HardwareVendor | undefined =>
  teeType === 'tdx' ? 'intel' : teeType === 'sev_snp' ? 'amd' : undefined;
