import { measurementSchema } from '@sotto/attestation';
import type { RegistryProvider } from '@sotto/router';

/** What is wrong with a measurement of the registry; undefined where it is one. */
export function problemOfMeasurement(measurement: string): string | undefined {
  const parsed = measurementSchema.safeParse(measurement);
  if (parsed.success) return undefined;
  const why = parsed.error.issues[0]?.message ?? 'it is malformed';
  return `a measurement is not of the form \`name=hex,name=hex\`: ${why}`;
}

/** Why `tee` routes of a provider will be refused whatever its evidence says; undefined where nothing stands in the way. */
export function teeObstacle({ privacy_class, models, attestation, base_url }: RegistryProvider): string | undefined {
  if (![privacy_class, ...(models ?? []).map((model) => model.privacy_class)].includes('tee')) return undefined;
  if (attestation === undefined) return 'it names no family of evidence';
  if (attestation.family === 'venice') return 'its evidence binds no TLS key: its models can be e2ee or private';
  if (new URL(base_url).protocol !== 'https:') return 'its address has no TLS';
  if ((attestation.measurements ?? []).length === 0) return 'it pins no measurements';
  return undefined;
}
