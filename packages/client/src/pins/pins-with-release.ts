import type { GatewayPins } from '@sotto/attestation';
import type { VerifiedRelease } from '../releases/read-release.ts';
import { ReleaseRefusal } from '../releases/refusal.ts';
import { type ClientPins, hasMeasurements } from './client-pins.ts';
import { newestOf, type PinnedRelease, type ReleaseLog, signerOf } from './pinned-release.ts';
import { withSnp, withTdx } from './pins-with.ts';

type MinimumTcb = NonNullable<GatewayPins['sev_snp']>['minimum_tcb'];

/** Refused only because of its age. `allowOlder` accepts it. */
export class OlderRelease extends ReleaseRefusal {}

interface Terms {
  /** Accepts a release that was logged before the newest pinned one: a downgrade. */
  readonly allowOlder: boolean;
  /** When the pins of this release expire. */
  readonly expiresAt: string | undefined;
}

/**
 * Adds the machines of a verified release to pins, and its place in the log. Firmware must then be as new as the
 * strictest release requires. Throws a `ReleaseRefusal` for one that is older than the newest pinned one.
 */
export function withRelease(pins: ClientPins, { statement, pinned, log }: VerifiedRelease, terms: Terms): ClientPins {
  const { releases = [], logs = [] } = pins;
  requireFitting(releases, pinned, terms);
  const { tdx = [], sev_snp = [] } = statement.machines;
  if (tdx.length + sev_snp.length === 0) {
    throw new ReleaseRefusal('release.statement', 'the release names no machines, so there is nothing to pin');
  }
  const about = {
    release: pinned.version,
    ...(terms.expiresAt === undefined ? {} : { expires_at: terms.expiresAt }),
  };
  const fresh: ClientPins = { gateway: {} };
  const withTdxMachines = tdx.reduce((made, machine) => withTdx(made, { ...machine, ...about }), fresh);
  const made = sev_snp.reduce((each, machine) => withSnp(each, { ...machine, ...about }), withTdxMachines).gateway;
  const { tdx_evaluation_number = 1, sev_snp_tcb = {} } = statement.minimum_firmware;
  return {
    ...pins,
    gateway: {
      ...pins.gateway,
      ...mergedTdx(pins.gateway.tdx, made.tdx, tdx_evaluation_number),
      ...mergedSnp(pins.gateway.sev_snp, made.sev_snp, sev_snp_tcb),
      ...registries(pins, statement.provider_registry),
    },
    releases: [...releases, pinned],
    ...(log === undefined ? {} : { logs: withLog(logs, log) }),
  };
}

/** Machines name their release by its version, so pins can have one release of a version. */
function requireFitting(releases: readonly PinnedRelease[], pinned: PinnedRelease, { allowOlder }: Terms): void {
  const same = releases.find(({ version }) => version === pinned.version);
  if (same !== undefined) throw new ReleaseRefusal('release.age', whyKnown(same, pinned));
  const newest = newestOf(releases.filter((each) => signerOf(each) === signerOf(pinned)));
  if (allowOlder || newest === undefined || Date.parse(pinned.logged_at) >= Date.parse(newest.logged_at)) return;
  throw new OlderRelease(
    'release.age',
    `release ${pinned.version} was logged at ${pinned.logged_at}, before ${newest.version}, which your pins have (${newest.logged_at})`,
  );
}

function whyKnown(same: PinnedRelease, pinned: PinnedRelease): string {
  if (signerOf(same) !== signerOf(pinned)) {
    return `your pins have a release ${same.version} of another signer (${signerOf(same)}); keep the releases of each signer in a file of its own`;
  }
  if (same.statement_sha256 !== pinned.statement_sha256) {
    return `your pins have another release ${same.version}, whose statement has the SHA-256 ${same.statement_sha256}; ask the publisher which one is right, and delete the other from your pins`;
  }
  return `your pins have release ${same.version} already; to change when it expires, edit the \`expires_at\` of its machines`;
}

/** New machines come first: a machine of two releases is then known by the newer one. */
function mergedTdx(old: GatewayPins['tdx'], added: GatewayPins['tdx'], required: number): Pick<GatewayPins, 'tdx'> {
  if (added === undefined) return {};
  const minimum_evaluation_number = Math.max(
    old?.minimum_evaluation_number ?? added.minimum_evaluation_number,
    required,
  );
  return {
    tdx: { ...old, measurements: [...added.measurements, ...(old?.measurements ?? [])], minimum_evaluation_number },
  };
}

function mergedSnp(
  old: GatewayPins['sev_snp'],
  added: GatewayPins['sev_snp'],
  required: MinimumTcb,
): Pick<GatewayPins, 'sev_snp'> {
  if (added === undefined) return {};
  const minimum_tcb = stricter(old?.minimum_tcb ?? {}, required);
  return { sev_snp: { ...old, measurements: [...added.measurements, ...(old?.measurements ?? [])], minimum_tcb } };
}

/** For each product and each part of its firmware, the newer of two minimum versions. */
function stricter(left: MinimumTcb, right: MinimumTcb): MinimumTcb {
  const products = [...new Set([...Object.keys(left), ...Object.keys(right)])] as (keyof MinimumTcb)[];
  return Object.fromEntries(
    products.map((product) => {
      const [one, other] = [left[product] ?? {}, right[product] ?? {}] as Readonly<Record<string, number>>[];
      const parts = [...new Set([...Object.keys(one ?? {}), ...Object.keys(other ?? {})])];
      return [product, Object.fromEntries(parts.map((part) => [part, Math.max(one?.[part] ?? 0, other?.[part] ?? 0)]))];
    }),
  ) as MinimumTcb;
}

/** Pins by hand that accept any registry stay as they are: one registry would refuse machines that they accept. */
function registries(pins: ClientPins, digest: string): Pick<GatewayPins, 'provider_registries'> {
  const { provider_registries: old } = pins.gateway;
  if (old === undefined && hasMeasurements(pins)) return {};
  return { provider_registries: [...new Set([...(old ?? []), digest])] };
}

const withLog = (logs: readonly ReleaseLog[], log: ReleaseLog): ReleaseLog[] => [
  ...logs.filter(({ key }) => key !== log.key),
  log,
];
