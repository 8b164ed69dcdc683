import { ClientError } from '../../errors.ts';
import { toBase64, utf8 } from '../bytes.ts';
import type { ChutesKey } from '../enclave-key.ts';
import type { E2eeFamily } from '../family.ts';
import { ChatReply } from '../reply/chat-reply.ts';
import { sealedBody } from '../sealed-body.ts';
import { EventPayloads } from './event-payloads.ts';
import { gunzip, gzip } from './gzip.ts';
import { makeReplyKeyPair, openBlob, sealBlob } from './whole-body.ts';

/** The longest reply that is unpacked, in bytes. */
const maxUnpackedBytes = 64 * 1024 * 1024;

const usedKeys = new WeakSet<ChutesKey>();

/**
 * Chutes (`/e2e/invoke`): the whole body, packed, under ML-KEM-768 and ChaCha20-Poly1305. An instance's nonce serves one
 * request. Events of a stream carry no number: where one is dropped, nothing shows it, but for the end, which is sealed.
 */
export const chutesFamily: E2eeFamily<ChutesKey> = {
  async seal({ key, chat, random, now }) {
    if (now >= key.expiresAt) throw new ClientError('e2ee_key_expired');
    if (usedKeys.has(key)) throw new ClientError('e2ee_key_used');
    usedKeys.add(key);
    const replyKey = makeReplyKeyPair(random);
    const plaintext = sealedBody(chat, key.model, { e2e_response_pk: toBase64(replyKey.publicKey) });
    const body = await sealBlob(key.publicKey, await gzip(utf8(plaintext)), { purpose: 'e2e-req-v1', random });
    const events = new EventPayloads(replyKey.secretKey);
    return {
      headers: {
        'x-chute-id': key.chuteId,
        'x-instance-id': key.instanceId,
        'x-e2e-nonce': key.nonce,
        'x-e2e-stream': String(chat.stream),
        'x-e2e-path': '/v1/chat/completions',
      },
      body,
      opener: new ChatReply({
        reading: {
          model: chat.model,
          includeUsage: chat.includeUsage || !chat.stream,
          openField: async (text) => text,
          isAuthentic: true,
        },
        source: events,
        unwrapWhole: async (blob) =>
          gunzip(new Uint8Array(await openBlob(replyKey.secretKey, blob, 'e2e-resp-v1')), maxUnpackedBytes),
        begin: async () => {},
        close: () => {
          replyKey.secretKey.fill(0);
          events.close();
        },
      }),
    };
  },
};
