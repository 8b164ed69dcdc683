import { type Bytes, type RandomBytes, utf8 } from '../bytes.ts';
import type { FieldCipher } from '../ciphers/field-cipher.ts';
import type { KeyPair } from '../ciphers/key-agreement.ts';
import type { Sealing } from '../family.ts';
import { ChatReply } from '../reply/chat-reply.ts';
import type { FieldPlace } from '../reply/completion.ts';
import { SsePayloads } from '../reply/sse-payloads.ts';
import type { TextChat } from '../text-chat.ts';

/** What is particular to one family that encrypts field by field. */
export interface FieldScheme {
  readonly cipher: FieldCipher;
  /** The enclave's key. */
  readonly recipient: Bytes;
  /** The client's key, whose public half the headers name. Erased in the end. */
  readonly replyKey: KeyPair;
  readonly headers: Readonly<Record<string, string>>;
  /** The enclave's name for the model. */
  readonly model: string;
  readonly requestAad?: (messageIndex: number) => string;
  readonly replyAad?: (place: FieldPlace) => string;
  /** Throws where the response headers say that the reply is not encrypted. */
  readonly checkHeaders?: (headers: Headers) => void;
  /** The family answers with a stream only. */
  readonly streamsOnly?: boolean;
  readonly extraBody?: Readonly<Record<string, unknown>>;
}

/** Encrypts the content of every message, whatever its role, and leaves settings, roles and counts in clear. */
export async function sealFields(
  { chat, random }: { readonly chat: TextChat; readonly random: RandomBytes },
  scheme: FieldScheme,
): Promise<Sealing> {
  const { cipher, recipient, replyKey, headers, model, requestAad, replyAad, extraBody = {} } = scheme;
  const messages: { role: string; content: string }[] = [];
  for (const [index, { role, content }] of chat.messages.entries()) {
    const aad = requestAad?.(index);
    const using = aad === undefined ? { random } : { random, aad };
    messages.push({ role, content: await cipher.seal(recipient, asText(content), using) });
  }
  const stream = scheme.streamsOnly === true || chat.stream;
  const streaming = stream ? { stream, stream_options: { include_usage: true } } : { stream };
  const body = utf8(JSON.stringify({ model, messages, ...chat.settings, ...streaming, ...extraBody }));
  const opener = cipher.opener(replyKey);
  return {
    headers,
    body,
    opener: new ChatReply({
      reading: {
        model: chat.model,
        includeUsage: chat.includeUsage || !chat.stream,
        openField: (value, place) => opener.open(value, replyAad?.(place)),
        isAuthentic: false,
      },
      source: new SsePayloads(),
      unwrapWhole: scheme.streamsOnly === true ? undefined : async (reply) => reply,
      begin: async (replyHeaders) => scheme.checkHeaders?.(replyHeaders),
      close: () => opener.close(),
    }),
  };
}

/**
 * The enclaves turn a plaintext that their JSON parser takes for a list into content parts. Text that may look like one
 * to any of them is therefore sent as the one part that says it.
 */
function asText(content: string): string {
  const outline = content.trim();
  const mayBeList = outline.startsWith('[') && outline.endsWith(']');
  return mayBeList ? JSON.stringify([{ type: 'text', text: content }]) : content;
}
