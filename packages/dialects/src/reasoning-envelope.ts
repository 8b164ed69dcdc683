import type { ReasoningDetail } from '@sotto/wire';
import { asArray, asObject, asString, type JsonObject, parseJson } from './json.ts';

/**
 * Marks the opaque strings in which an agent keeps reasoning for us. It also names their version. A string without this
 * mark comes from another service, and its reasoning cannot be returned to a provider here.
 */
const mark = 'sotto.1.';

/** Reasoning that an agent keeps and returns. The provider that wrote it needs it to continue. */
export interface KeptReasoning {
  /** The trace as text. Some providers without signatures want it back. */
  readonly text: string;
  /** The signed or encrypted pieces. Each names its format, so that only its own provider gets it back. */
  readonly details: readonly ReasoningDetail[];
}

/** Writes reasoning as one opaque string. */
export const sealReasoning = (kept: KeptReasoning): string => seal({ text: kept.text, details: kept.details });

/** Reads what `sealReasoning` wrote. Undefined for any other string. */
export function openReasoning(sealed: unknown): KeptReasoning | undefined {
  const opened = open(sealed);
  if (opened === undefined) return undefined;
  return { text: asString(opened.text) ?? '', details: readDetails(opened.details) };
}

/**
 * Writes the signature of a trace whose text stays outside the string. The detail's own signature and format are
 * inside. A trace that no provider signed gets an empty one, which still shows that it came from here.
 */
export function sealSignature(detail: ReasoningDetail | undefined): string {
  if (detail?.type !== 'reasoning.text') return seal({});
  const { type: _, text: __, ...signed } = detail;
  return seal(signed);
}

/** Reads what `sealSignature` wrote beside its text. Undefined if another service signed it, or if nothing did. */
export function openSignature(sealed: unknown, text: string): KeptReasoning | undefined {
  const signed = open(sealed);
  if (signed === undefined) return undefined;
  return { text, details: readDetails([{ ...signed, type: 'reasoning.text', text }]) };
}

/** Writes the summary of a conversation as one opaque string. */
export const sealSummary = (summary: string): string => seal({ summary });

/** Reads what `sealSummary` wrote. Undefined for any other string. */
export const openSummary = (sealed: unknown): string | undefined => asString(open(sealed)?.summary);

const seal = (value: object): string => mark + Buffer.from(JSON.stringify(value, fields)).toString('base64url');

/** The fields inside, in the order in which they are written: equal reasoning gets equal strings, which caches need. */
const fields = ['text', 'details', 'type', 'summary', 'data', 'signature', 'format', 'index', 'id'];

function open(sealed: unknown): JsonObject | undefined {
  if (typeof sealed !== 'string' || !sealed.startsWith(mark)) return undefined;
  return asObject(parseJson(Buffer.from(sealed.slice(mark.length), 'base64url').toString()));
}

/** Returns the pieces that a provider can use. A text without a signature needs none: the trace has it. */
function readDetails(value: unknown): ReasoningDetail[] {
  return (asArray(value) ?? []).flatMap((entry) => {
    const detail = asObject(entry);
    if (detail === undefined) return [];
    const isUsable =
      (detail.type === 'reasoning.text' && typeof detail.signature === 'string') ||
      (detail.type === 'reasoning.encrypted' && typeof detail.data === 'string') ||
      (detail.type === 'reasoning.summary' && typeof detail.summary === 'string');
    // The broker checks every field of a detail against its schema.
    return isUsable ? [detail as unknown as ReasoningDetail] : [];
  });
}
