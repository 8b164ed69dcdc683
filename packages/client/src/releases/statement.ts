import { commitSchema, gatewayPinsSchema, timeSchema } from '@sotto/attestation';
import { parseJson, problemOf } from '@sotto/wire';
import * as z from 'zod';
import { ReleaseRefusal } from './refusal.ts';

/** The media type of an in-toto statement. */
export const statementMediaType = 'application/vnd.in-toto+json';

/** The in-toto predicate of a release: https://in-toto.io/Statement/v1. */
export const releasePredicateType = 'urn:sotto:release:v1';

const statementType = 'https://in-toto.io/Statement/v1';

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be `sha256:` and 64 lower-case hex digits');
const { tdx, sev_snp } = gatewayPinsSchema.shape;

/** A machine of a release, as pins name it. A release cannot say when a user's pin of it expires, or which release it is of. */
const machinesSchema = z
  .strictObject({
    tdx: tdx.unwrap().shape.measurements.max(256).optional(),
    sev_snp: sev_snp.unwrap().shape.measurements.max(256).optional(),
  })
  .superRefine((machines, context) => {
    for (const pin of [...(machines.tdx ?? []), ...(machines.sev_snp ?? [])]) {
      const name = (['release', 'expires_at'] as const).find((each) => pin[each] !== undefined);
      if (name === undefined) continue;
      context.addIssue({ code: 'custom', message: `must not have \`${name}\`: the pins of a user say that` });
    }
  });

/** The oldest firmware that the machines of a release may have. */
export const minimumFirmwareSchema = z.strictObject({
  tdx_evaluation_number: tdx.unwrap().shape.minimum_evaluation_number.optional(),
  sev_snp_tcb: sev_snp.unwrap().shape.minimum_tcb.optional(),
});

const predicateSchema = z.strictObject({
  version: z.string().regex(/^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$/, 'must be a version such as 0.2.0'),
  commit: commitSchema,
  released_at: timeSchema,
  /** `provider_registry_digest` of the key sets of its brokers. */
  provider_registry: digest,
  machines: machinesSchema,
  minimum_firmware: minimumFirmwareSchema,
});

const statementSchema = z.strictObject({
  _type: z.literal(statementType),
  /** The images of the release. */
  subject: z
    .array(z.strictObject({ name: z.string().min(1).max(256), digest: z.strictObject({ sha256: z.hex().length(64) }) }))
    .min(1)
    .max(64),
  predicateType: z.literal(releasePredicateType),
  predicate: predicateSchema,
});

/** The facts that a release states about itself. */
export type ReleaseStatement = z.infer<typeof predicateSchema> & {
  /** The images by name, each `sha256:…`. */
  readonly images: Readonly<Record<string, string>>;
};

/** Makes the statement to sign. Throws a `ReleaseRefusal` that says what is malformed. */
export function statementText({ images, ...predicate }: ReleaseStatement): string {
  const subject = Object.entries(images).map(([name, image]) => ({
    name,
    digest: { sha256: image.replace(/^sha256:/, '') },
  }));
  const text = JSON.stringify({ _type: statementType, subject, predicateType: releasePredicateType, predicate });
  readStatement(new TextEncoder().encode(text));
  return text;
}

/** Reads the signed statement of a release. Throws a `ReleaseRefusal`. */
export function readStatement(payload: Uint8Array): ReleaseStatement {
  const value = parseJson(new TextDecoder().decode(payload));
  const type = z.looseObject({ predicateType: z.string().max(256) }).safeParse(value);
  if (type.data !== undefined && type.data.predicateType !== releasePredicateType) {
    throw new ReleaseRefusal(
      'release.statement',
      `the signed statement is about something else: its type is ${type.data.predicateType}, not ${releasePredicateType}`,
    );
  }
  const parsed = statementSchema.safeParse(value);
  if (!parsed.success) throw new ReleaseRefusal('release.statement', problemOf(parsed.error, 'the statement'));
  const { subject, predicate } = parsed.data;
  const images = Object.fromEntries(subject.map(({ name, digest: { sha256 } }) => [name, `sha256:${sha256}`]));
  return { ...predicate, images };
}
