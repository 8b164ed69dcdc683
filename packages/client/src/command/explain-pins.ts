import { type GatewayPins, vendorByTee } from '@sotto/attestation';
import type { ClientPins } from '../pins/client-pins.ts';
import { newestReleases, type PinnedRelease, type ReleaseLog } from '../pins/pinned-release.ts';
import { printableLine } from './terminal.ts';

const day = 86_400_000;

/** Such as `3 days ago`. Both are Unix ms. */
export function ago(then: number, now: number): string {
  const days = Math.floor((now - then) / day);
  if (days <= 0) return 'less than a day ago';
  return days === 1 ? '1 day ago' : `${days} days ago`;
}

/** Such as `0.2.0, logged at 2026-11-20T10:00:00Z (9 days ago)`. */
export const releaseWords = ({ version, logged_at }: PinnedRelease, now: number): string =>
  printableLine(`${version}, logged at ${logged_at} (${ago(Date.parse(logged_at), now)})`);

/** Says of each pin of the gateway where it comes from: a line each. */
export function explainPins(pins: ClientPins, now: number): string[] {
  const { gateway, releases = [], logs = [] } = pins;
  const machines = machineLines(pins, now);
  return [
    ...(machines.length === 0 ? ['No machines are pinned: no broker is accepted.'] : machines),
    '',
    ...newestReleases(releases).map((newest) => `Newest release      ${releaseWords(newest, now)}`),
    `Vendors of brokers  ${gateway.vendors?.join(', ') ?? 'all that have pins'}`,
    `Provider registries ${gateway.provider_registries?.join(', ') ?? 'any'}`,
    ...firmware(gateway),
    ...logs.map(logWords),
  ];
}

function machineLines({ gateway: { tdx, sev_snp, vendors }, releases = [] }: ClientPins, now: number): string[] {
  const machines = [
    ...(tdx?.measurements ?? []).map((pin) => ({ kind: 'TDX', vendor: vendorByTee.tdx, pin, id: pin.mr_td })),
    ...(sev_snp?.measurements ?? []).map((pin) => ({
      kind: 'SEV-SNP',
      vendor: vendorByTee.sev_snp,
      pin,
      id: pin.measurement,
    })),
  ];
  return machines.flatMap(({ kind, vendor, pin, id }) => [
    `${kind} ${id.slice(0, 16)}…${pin.name === undefined ? '' : ` "${printableLine(pin.name)}"`}`,
    `  ${printableLine(originOf(pin.release, releases))}`,
    ...validity(pin.expires_at, now),
    ...(vendors === undefined || vendors.includes(vendor)
      ? []
      : [`  not accepted: \`vendors\` names only ${vendors.join(', ')}`]),
  ]);
}

function originOf(release: string | undefined, releases: readonly PinnedRelease[]): string {
  if (release === undefined) return 'by hand';
  const found = releases.find(({ version }) => version === release);
  if (found === undefined) return `by hand: it names release ${release}, which these pins do not have`;
  const { version, commit, logged_at, log, signed_by } = found;
  const signer =
    'key' in signed_by ? `the key ${signed_by.key}` : `${signed_by.identity} (${signed_by.issuer} vouched for it)`;
  return `release ${version}, commit ${commit}, logged at ${logged_at} in ${log}, signed by ${signer}`;
}

function validity(expiresAt: string | undefined, now: number): string[] {
  if (expiresAt === undefined) return [];
  return [`  ${Date.parse(expiresAt) <= now ? 'EXPIRED at' : 'expires at'} ${expiresAt}`];
}

function firmware({ tdx, sev_snp }: GatewayPins): string[] {
  return [
    ...(tdx === undefined ? [] : [`Firmware of TDX     evaluation ${tdx.minimum_evaluation_number} or later`]),
    ...(sev_snp === undefined ? [] : [`Firmware of SEV-SNP ${JSON.stringify(sev_snp.minimum_tcb)} or later`]),
  ];
}

function logWords({ key, witnesses = [], checkpoint }: ReleaseLog): string {
  const [, size] = checkpoint?.split('\n') ?? [];
  const seen = size === undefined ? 'nothing seen yet' : `${size} entries seen`;
  return `Log                 ${printableLine(`${key}: ${seen}`)}, ${witnesses.length} witnesses required`;
}
