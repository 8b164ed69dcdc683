import { ClientError } from '../../errors.ts';
import { type Bytes, fromHex, toHex, utf8 } from '../bytes.ts';
import type { KeyOf } from '../enclave-key.ts';
import type { E2eeFamily } from '../family.ts';
import { ChatReply } from '../reply/chat-reply.ts';
import { wholeBodyReading } from '../reply/completion.ts';
import { sealedBody } from '../text-chat.ts';
import { frame } from './frames.ts';
import { SealedPayloads, sendTo } from './sealed-payloads.ts';

/**
 * Tinfoil: encrypts the whole body with EHBP (tinfoilsh/encrypted-http-body-protocol, SPEC.md). The key comes from the
 * attestation, not from the key configuration that the server publishes. Chunks of a reply are numbered, so a dropped
 * or swapped chunk makes the next one fail to open. EHBP does not mark the end. The sealed content decides whether a
 * reply is complete.
 */
export const tinfoilFamily: E2eeFamily<KeyOf<'tinfoil'>> = {
  async seal({ key, chat, cacheSecret, random }) {
    // Its router derives the cache's namespace from this field, and removes it.
    const own = cacheSecret === undefined ? {} : { user_cache_secret: cacheSecret };
    const { sealed, secret } = await sendTo(key.publicKey, utf8(sealedBody(chat, key.model, own)), random);
    const replies = new SealedPayloads();
    return {
      headers: { 'ehbp-encapsulated-key': toHex(secret.encapsulatedKey) },
      body: frame(sealed),
      opener: new ChatReply({
        reading: wholeBodyReading(chat),
        source: replies,
        unwrapWhole: (body) => replies.openAll(body),
        begin: async (headers) => replies.begin(secret, readResponseNonce(headers)),
        close: () => {
          secret.exported.fill(0);
          replies.close();
        },
      }),
    };
  },
};

function readResponseNonce(headers: Headers): Bytes {
  const nonce = fromHex(headers.get('ehbp-response-nonce') ?? '');
  // Without the nonce the body would be unauthenticated plaintext (SPEC.md 5.3).
  if (nonce?.length !== 32) throw new ClientError('e2ee_reply_not_encrypted');
  return nonce;
}
