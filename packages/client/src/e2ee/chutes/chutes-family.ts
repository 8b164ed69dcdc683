import { ClientError } from '../../errors.ts';
import { type Bytes, concat, toBase64, utf8 } from '../bytes.ts';
import type { KeyOf } from '../enclave-key.ts';
import type { E2eeFamily } from '../family.ts';
import { ChatReply } from '../reply/chat-reply.ts';
import { wholeBodyReading } from '../reply/completion.ts';
import { sealedBody } from '../text-chat.ts';
import { EventPayloads } from './event-payloads.ts';
import { storedGzip } from './stored-gzip.ts';
import { makeReplyKeyPair, openBlob, sealBlob } from './whole-body.ts';

/** Limit of an unpacked reply, in bytes. */
const maxUnpackedBytes = 64 * 1024 * 1024;

const usedKeys = new WeakSet<KeyOf<'chutes'>>();

/**
 * Chutes (`/e2e/invoke`): encrypts the whole body, packed as gzip, with ML-KEM-768 and ChaCha20-Poly1305. An instance's nonce
 * serves one request. Events of a stream are not numbered, so a dropped event goes unnoticed. The end of a stream is
 * sealed, so a missing end is noticed.
 */
export const chutesFamily: E2eeFamily<KeyOf<'chutes'>> = {
  async seal({ key, chat, random, now }) {
    if (now >= key.expiresAt) throw new ClientError('e2ee_key_expired');
    if (usedKeys.has(key)) throw new ClientError('e2ee_key_used');
    usedKeys.add(key);
    const replyKey = makeReplyKeyPair(random);
    const plaintext = sealedBody(chat, key.model, { e2e_response_pk: toBase64(replyKey.publicKey) });
    const body = await sealBlob(key.publicKey, storedGzip(utf8(plaintext)), { purpose: 'e2e-req-v1', random });
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
        reading: wholeBodyReading(chat),
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

/** Throws `e2ee_reply_too_large` as soon as the output exceeds `maxBytes`, and `e2ee_reply_malformed` for invalid gzip. */
export async function gunzip(bytes: Bytes, maxBytes: number): Promise<Bytes> {
  try {
    return await read(bytes, new DecompressionStream('gzip'), maxBytes);
  } catch (error) {
    throw error instanceof ClientError ? error : new ClientError('e2ee_reply_malformed');
  }
}

async function read(bytes: Bytes, through: GenericTransformStream, maxBytes: number): Promise<Bytes> {
  const source = new Blob([bytes]).stream();
  const reader: ReadableStreamDefaultReader<Uint8Array> = source
    .pipeThrough<Uint8Array>(through as ReadableWritablePair<Uint8Array, Uint8Array>)
    .getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    length += next.value.length;
    if (length > maxBytes) {
      await reader.cancel();
      throw new ClientError('e2ee_reply_too_large');
    }
    parts.push(next.value);
  }
  return concat(...parts);
}
