import type { Documents } from '@sotto/providers';
import { z } from 'zod';

/** What a provider is asked for evidence of. */
export interface EvidenceQuestion {
  readonly documents: Documents;
  /** Fresh: 64 lower-case hex digits. */
  readonly nonce: string;
  readonly upstreamModel: string;
  readonly privacyClass: 'tee' | 'e2ee';
  readonly now: number;
}

/** A machine as a family shows it: its quote or report, and what belongs to it. */
export type ShownMachine =
  | {
      readonly teeType: 'tdx';
      readonly quote: Buffer;
      readonly eventLog?: unknown;
      readonly appCompose?: string | undefined;
    }
  | { readonly teeType: 'sev_snp'; readonly report: Buffer };

/** What a family's evidence consists of, but for what the vendors sign about the machine. */
export interface ShownEvidence {
  readonly machine: ShownMachine;
  readonly evidence: Readonly<Record<string, unknown>>;
}

/** Why there is no evidence: a status or a word, nothing that the provider wrote. */
export class NoEvidence extends Error {}

/** Reads an answer of a provider, loosely: what is not asked for is left out. */
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
  let json: unknown;
  try {
    json = JSON.parse(body.toString('utf8'));
  } catch {
    throw new NoEvidence('it did not answer JSON');
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success)
    throw new NoEvidence(`its answer lacks ${parsed.error.issues[0]?.path.join('.') || 'what it must have'}`);
  return parsed.data;
}

export const queryOf = (parameters: Readonly<Record<string, string>>): string => `?${new URLSearchParams(parameters)}`;

/** Hex as providers write it, with or without `0x`, in either case; as lower case without. */
export const hexSchema = z
  .string()
  .max(262_144)
  .regex(/^(?:0x)?[0-9a-fA-F]*$/)
  .transform((hex) => hex.replace(/^0x/, '').toLowerCase());

/** What dstack's guest agent says of itself: of that, the app-compose document, wherever it is kept. */
export const infoSchema = z
  .looseObject({
    app_compose: z.string().optional(),
    tcb_info: z.union([z.string(), z.looseObject({ app_compose: z.string().optional() })]).optional(),
  })
  .transform(({ app_compose: own, tcb_info: tcb }): string | undefined => {
    if (own !== undefined || tcb === undefined) return own;
    if (typeof tcb !== 'string') return tcb.app_compose;
    try {
      const { app_compose: inner } = JSON.parse(tcb) as { app_compose?: unknown };
      return typeof inner === 'string' ? inner : undefined;
    } catch {
      return undefined;
    }
  });
