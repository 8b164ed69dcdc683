import { type Bytes, toHex, utf8 } from '../bytes.ts';
import type { FieldCipher } from '../ciphers/field-cipher.ts';
import type { EnclaveKey } from '../enclave-key.ts';
import type { Sealing, SealingInput } from '../family.ts';
import { ChatReply } from '../reply/chat-reply.ts';
import type { FieldPlace } from '../reply/completion.ts';
import { SsePayloads } from '../reply/sse-payloads.ts';
import { sealedBody, type TextChat } from '../text-chat.ts';

/** The particulars of one family that encrypts field by field. */
interface FieldScheme {
  readonly headers: Readonly<Record<string, string>>;
  readonly requestAad?: (messageIndex: number) => string;
  readonly replyAad?: (place: FieldPlace) => string;
  /** Throws if the response headers say that the reply is not encrypted. */
  readonly checkHeaders?: (headers: Headers) => void;
  /** Whether the family always answers with a stream. */
  readonly streamsOnly?: boolean;
  readonly extraBody?: Readonly<Record<string, unknown>>;
}

/**
 * Encrypts the content of every message, whatever its role. Settings, roles and counts stay readable. `schemeFor` takes
 * the client's public key for the reply, as hex. `close` of the opener erases the key.
 */
export async function sealFields(
  { key, chat, random }: Pick<SealingInput<EnclaveKey>, 'key' | 'chat' | 'random'>,
  cipher: FieldCipher,
  schemeFor: (clientKey: string) => FieldScheme,
): Promise<Sealing> {
  const replyKey = await cipher.makeReplyKey(random);
  const scheme = schemeFor(toHex(replyKey.publicKey));
  const { headers, requestAad, replyAad, extraBody } = scheme;
  const messages: TextChat['messages'][number][] = [];
  for (const [index, { role, content }] of chat.messages.entries()) {
    const aad = requestAad?.(index);
    const using = aad === undefined ? { random } : { random, aad };
    messages.push({ role, content: await cipher.seal(key.publicKey, asText(content), using) });
  }
  const stream = scheme.streamsOnly === true || chat.stream;
  const body = utf8(sealedBody({ ...chat, messages, stream }, key.model, extraBody));
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
 * Keeps the enclaves from reading text as content parts. They do so with a plaintext that parses as a JSON list. Text
 * that looks like a list is therefore sent as a list of one text part.
 */
function asText(content: string): string {
  const outline = content.trim();
  const mayBeList = outline.startsWith('[') && outline.endsWith(']');
  return mayBeList ? JSON.stringify([{ type: 'text', text: content }]) : content;
}

/** A public key as the attestation reports of NEAR and dstack-vllm-proxy name it: secp256k1 points lack their `04`. */
export const withoutPointPrefix = (publicKey: Bytes): Bytes =>
  publicKey.length === 65 ? publicKey.slice(1) : publicKey;
