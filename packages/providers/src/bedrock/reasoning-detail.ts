import type { ReasoningDetail } from '@sotto/wire';
import { asString, type JsonObject } from '../json.ts';
import { detailFormats } from '../translate/reasoning-details.ts';

/**
 * A piece of `reasoningContent` as a detail. Signed text is Claude's, and good at Anthropic's own address, too; what is
 * redacted comes as bytes that only Bedrock knows how to pass on.
 */
export function reasoningDetail(piece: JsonObject, index: number | undefined): ReasoningDetail[] {
  const text = asString(piece.text);
  const signature = asString(piece.signature);
  const data = asString(piece.redactedContent);
  if (data) return [{ type: 'reasoning.encrypted', data, format: detailFormats.bedrock, index }];
  if (!text && !signature) return [];
  const format = detailFormats.anthropic;
  return [{ type: 'reasoning.text', ...(text ? { text } : {}), ...(signature ? { signature } : {}), format, index }];
}
