import * as z from 'zod';
import { toHex } from '../bytes.ts';
import type { DstackIdentity } from '../dstack/identity.ts';
import {
  keyProviderForm,
  keyProviderTakes,
  measuredIdentity,
  openKeyName,
  openKeyProblem,
} from '../dstack/pinned-identity.ts';
import { Refusal, Unmade } from '../refusal.ts';
import { minimumTcbSchema, type SnpReport } from '../snp/report.ts';
import type { TdReport } from '../tdx/quote.ts';

const digits = (bytes: number) => ({
  form: new RegExp(`^[0-9a-f]{${2 * bytes}}$`),
  takes: `${2 * bytes} lower-case hex digits`,
});

/** The form of each value that a measurement may name. */
const tdxNames = {
  mr_td: digits(48),
  rtmr0: digits(48),
  rtmr1: digits(48),
  rtmr2: digits(48),
  rtmr3: digits(48),
  mr_config_id: digits(48),
  compose_hash: digits(32),
  os_image_hash: digits(32),
  app_id: digits(20),
  key_provider: { form: keyProviderForm, takes: keyProviderTakes },
} as const;
const snpNames = { measurement: digits(48), host_data: digits(32) } as const;
const forms = new Map(Object.entries({ ...tdxNames, ...snpNames }));

/** The registers that the host can change by the way it starts a machine. A pin that omits one accepts any value of it. */
const bootNames = ['mr_td', 'rtmr0', 'rtmr1', 'rtmr2'] as const;
type Measurement = ReadonlyMap<string, string>;

/** Reads `name=value,name=value`, or returns what is wrong with it. */
function readMeasurement(text: string): Measurement | string {
  const named = new Map<string, string>();
  for (const pair of text.split(',')) {
    const [name = '', value = '', ...rest] = pair.split('=');
    const known = forms.get(name);
    if (known === undefined) return `\`${name.slice(0, 32)}\` is none of ${[...forms.keys()].join(', ')}`;
    if (rest.length > 0 || !known.form.test(value)) return `\`${name}\` must be ${known.takes}`;
    if (named.has(name)) return `\`${name}\` comes twice`;
    named.set(name, value);
  }
  const problem = named.has('measurement') || named.has('host_data') ? problemOfSnp(named) : problemOfTdx(named);
  return problem ?? named;
}

function problemOfSnp(named: Measurement): string | undefined {
  const foreign = [...named.keys()].find((name) => !Object.hasOwn(snpNames, name));
  if (foreign !== undefined) return `\`measurement\` and \`host_data\` are of SEV-SNP, \`${foreign}\` is of TDX`;
  const missing = ['measurement', 'host_data'].find((name) => !named.has(name));
  return missing && `\`${missing}\` is missing: without it the host chooses it`;
}

function problemOfTdx(named: Measurement): string | undefined {
  const missing = bootNames.find((name) => !named.has(name));
  if (missing !== undefined) return `\`${missing}\` is missing: without it the machine may have booted anything`;
  // RTMR3 covers everything that a dstack machine logs, its app id and key provider included.
  if (named.has('rtmr3')) return undefined;
  if (!named.has('compose_hash')) return 'it must say what runs: `rtmr3` or `compose_hash`';
  const open = openKeyName((name) => named.has(name));
  return open && openKeyProblem(open);
}

/**
 * One accepted machine: comma-separated `name=value`. TDX: `mr_td`, `rtmr0` to `rtmr2`, and the workload by `rtmr3`, or
 * by dstack's `compose_hash` with `app_id` and `key_provider` (`kms:<hex id>`). Optional: `mr_config_id`,
 * `os_image_hash`. SEV-SNP: `measurement` and `host_data`. Hex is lower case.
 */
export const measurementSchema = z
  .string()
  .max(2048)
  .superRefine((text, context) => {
    const read = readMeasurement(text);
    if (typeof read === 'string') context.addIssue({ code: 'custom', message: read });
  });

/** The accepted machines of one provider, of which any is sufficient, and the oldest versions of their parts. */
export const providerPinsSchema = z.strictObject({
  measurements: z.array(measurementSchema).max(1000).optional(),
  minimum_evaluation_number: z.int().min(1).optional(),
  accepted_advisories: z.array(z.string()).optional(),
  minimum_tcb: minimumTcbSchema.optional(),
  /**
   * If given, only these processors (TDX: PPID) and chips (SEV-SNP: CHIP_ID) are accepted. Then a leaked key of another
   * processor is useless.
   */
  platforms: z
    .array(
      z.string().regex(/^(?:[0-9a-f]{32}|[0-9a-f]{128})$/, 'must be 32 (PPID) or 128 (CHIP_ID) lower-case hex digits'),
    )
    .min(1)
    .max(1000)
    .optional(),
});
export type ProviderPins = z.infer<typeof providerPinsSchema>;

/** The measured values of a machine, by the names of `measurementSchema`. */
export type Measured = Readonly<Record<string, string | undefined>>;

export function measuredTdx(report: TdReport, identity: DstackIdentity | undefined): Measured {
  const [rtmr0, rtmr1, rtmr2, rtmr3] = report.rtmrs.map(toHex);
  return {
    mr_td: toHex(report.mrTd),
    rtmr0,
    rtmr1,
    rtmr2,
    rtmr3,
    mr_config_id: toHex(report.mrConfigId),
    os_image_hash: identity?.osImageHash,
    ...measuredIdentity(identity),
  };
}

export function measuredSnp({ measurement, hostData }: SnpReport): Measured {
  return { measurement: toHex(measurement), host_data: toHex(hostData) };
}

/**
 * Refuses a machine that is not pinned. Without pins, the check is skipped. Either way, the reason shows the machine's
 * measurements in the form of a pin.
 */
export function requirePinned(measured: Measured, { measurements }: ProviderPins): void {
  const shown = Object.entries(measured)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
  if (measurements === undefined || measurements.length === 0) {
    throw new Unmade(`no measurements are pinned; the machine's are ${shown}`);
  }
  const agrees = (text: string): boolean => {
    const pin = readMeasurement(text);
    return typeof pin !== 'string' && [...pin].every(([name, value]) => measured[name] === value);
  };
  if (!measurements.some(agrees)) throw new Refusal(`the machine is none that is pinned: ${shown}`);
}

/** Refuses a processor (PPID) or chip (CHIP_ID) that is not pinned. Without pins of processors, the check is skipped. */
export function requirePlatform(platform: string | undefined, { platforms }: ProviderPins): void {
  if (platforms === undefined) throw new Unmade(`no processors are pinned; this one is ${platform ?? 'unknown'}`);
  if (platform === undefined || !platforms.includes(platform)) {
    throw new Refusal(`the processor is none that is pinned: ${platform ?? 'unknown'}`);
  }
}
