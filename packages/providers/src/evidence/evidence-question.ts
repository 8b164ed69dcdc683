import { parseJson } from '@sotto/wire';
import * as z from 'zod';
import { asObject, asString } from '../json.ts';
import type { Documents } from '../transport/documents.ts';

/** The input for fetching a provider's evidence. */
export interface EvidenceQuestion {
  readonly documents: Documents;
  /** A fresh nonce: 64 lower-case hex digits. */
  readonly nonce: string;
  readonly upstreamModel: string;
  readonly privacyClass: 'tee' | 'e2ee';
  readonly now: number;
}

/** A machine as a family presents it: its quote or report, and the data that belongs to it. */
export type ShownMachine =
  | {
      readonly teeType: 'tdx';
      readonly quote: Buffer;
      readonly eventLog?: unknown;
      readonly appCompose?: string | undefined;
    }
  | { readonly teeType: 'sev_snp'; readonly report: Buffer };

/** A family's evidence, without the documents that vendors sign about the machine. */
export interface ShownEvidence {
  readonly machine: ShownMachine;
  readonly evidence: Readonly<Record<string, unknown>>;
}

/** Thrown if there is no evidence. The message is a status or a word, never the provider's text. */
export class NoEvidence extends Error {}

/** Reads a provider's answer loosely: fields outside the schema are dropped. */
export async function ask<T>(
  { documents }: EvidenceQuestion,
  path: string,
  schema: z.ZodType<T>,
  options: { readonly atRoot?: boolean } = {},
): Promise<T> {
  const { status, body } = await documents.get(path, options).catch(() => {
    throw new NoEvidence('it could not be reached');
  });
  if (status !== 200) throw new NoEvidence(`it answered ${status}`);
  return readAnswer(body, schema);
}

export function readAnswer<T>(body: Buffer, schema: z.ZodType<T>): T {
  const json = parseJson(body.toString('utf8'));
  if (json === undefined) throw new NoEvidence('it did not answer JSON');
  const parsed = schema.safeParse(json);
  if (!parsed.success)
    throw new NoEvidence(`its answer lacks ${parsed.error.issues[0]?.path.join('.') || 'what it must have'}`);
  return parsed.data;
}

export const queryOf = (parameters: Readonly<Record<string, string>>): string => `?${new URLSearchParams(parameters)}`;

/** Accepts hex as providers write it, with or without `0x`, in either case. Returns lower case without `0x`. */
export const hexSchema = z
  .string()
  .max(262_144)
  .regex(/^(?:0x)?[0-9a-fA-F]*$/)
  .transform((hex) => hex.replace(/^0x/, '').toLowerCase());

/** Reads the app-compose document from the report of dstack's guest agent, which keeps it in one of two places. */
export const infoSchema = z
  .looseObject({
    app_compose: z.string().optional(),
    tcb_info: z.union([z.string(), z.looseObject({ app_compose: z.string().optional() })]).optional(),
  })
  .transform(({ app_compose: own, tcb_info: tcb }): string | undefined => {
    if (own !== undefined || tcb === undefined) return own;
    if (typeof tcb !== 'string') return tcb.app_compose;
    return asString(asObject(parseJson(tcb))?.app_compose);
  });
