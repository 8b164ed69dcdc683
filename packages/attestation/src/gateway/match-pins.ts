import { toHex } from '../bytes/encodings.ts';
import type { DstackIdentity } from '../dstack/identity.ts';
import { Refusal, Unmade } from '../refusal.ts';
import type { SnpReport } from '../snp/report.ts';
import type { PckPlatform } from '../tdx/pck-extension.ts';
import type { TdReport } from '../tdx/quote.ts';
import type { GatewayPins } from './pins.ts';

/** Refuses a TDX machine that is none of the pinned ones; the reason shows what it is. */
export function matchTdx(report: TdReport, identity: DstackIdentity | undefined, { tdx }: GatewayPins): void {
  if (tdx === undefined) throw new Unmade('no TDX measurements are pinned');
  const [rtmr0, rtmr1, rtmr2, rtmr3] = report.rtmrs.map(toHex);
  const measured = { mr_td: toHex(report.mrTd), rtmr0, rtmr1, rtmr2, rtmr3, mr_config_id: toHex(report.mrConfigId) };
  requirePinned({ ...measured, compose_hash: identity?.composeHash }, tdx.measurements);
}

/** Refuses a SEV-SNP machine that is none of the pinned ones; the reason shows what it is. */
export function matchSnp(report: SnpReport, identity: DstackIdentity | undefined, { sev_snp }: GatewayPins): void {
  if (sev_snp === undefined) throw new Unmade('no SEV-SNP measurements are pinned');
  const measured = { measurement: toHex(report.measurement), host_data: toHex(report.hostData) };
  requirePinned({ ...measured, compose_hash: identity?.composeHash }, sev_snp.measurements);
}

/** One pin must agree in everything that it names. */
function requirePinned(
  measured: Readonly<Record<string, string | undefined>>,
  pins: readonly Readonly<Record<string, string | undefined>>[],
): void {
  const agrees = (pin: Readonly<Record<string, string | undefined>>) =>
    Object.entries(pin).every(([field, value]) => field === 'name' || value === undefined || measured[field] === value);
  if (pins.some(agrees)) return;
  const shown = Object.entries(measured).map(([field, value]) => `${field} ${value ?? 'unknown'}`);
  throw new Refusal(`the machine is none that is pinned: ${shown.join(', ')}`);
}

export function requireProcessor(platform: PckPlatform | undefined, { tdx }: GatewayPins): void {
  if (tdx?.platforms === undefined) throw new Unmade('no processors are pinned');
  if (platform === undefined || !tdx.platforms.includes(platform.ppid)) {
    throw new Refusal(`the processor is none that is pinned: ${platform?.ppid ?? 'unknown'}`);
  }
}

export function requireChip({ chipId }: SnpReport, { sev_snp }: GatewayPins): void {
  if (sev_snp?.platforms === undefined) throw new Unmade('no chips are pinned');
  if (!sev_snp.platforms.includes(toHex(chipId)))
    throw new Refusal(`the chip is none that is pinned: ${toHex(chipId)}`);
}
