import { parseJson } from '@sotto/wire';
import { ClientError } from '../../errors.ts';
import { type Bytes, fromBase64, fromUtf8, toHex } from '../bytes.ts';
import { type AeadKey, chacha20, tagBytes } from '../ciphers/aead.ts';
import { type PayloadSource, SsePayloads } from '../reply/sse-payloads.ts';
import { decapsulate, kemBytes, openWith } from './whole-body.ts';

/**
 * The payloads of a stream whose events are sealed one by one. The first event is `e2e_init` with the key; each `e2e`
 * event holds a line of the inner stream. Unencrypted events report token counts for billing, or a failure. An
 * unencrypted `[DONE]` does not end the reply.
 */
export class EventPayloads implements PayloadSource {
  readonly #events = new SsePayloads();
  readonly #secretKey: Bytes;
  readonly #seen = new Set<string>();
  #key: AeadKey | undefined;

  constructor(secretKey: Bytes) {
    this.#secretKey = secretKey;
  }

  async push(bytes: Uint8Array): Promise<readonly string[]> {
    return this.#openAll(await this.#events.push(bytes));
  }

  async end(): Promise<readonly string[]> {
    return this.#openAll(await this.#events.end());
  }

  close(): void {
    this.#key?.close();
    this.#key = undefined;
  }

  async #openAll(events: readonly string[]): Promise<readonly string[]> {
    const payloads: string[] = [];
    for (const event of events) payloads.push(...(await this.#open(event)));
    return payloads;
  }

  async #open(event: string): Promise<readonly string[]> {
    if (event === '[DONE]') return [];
    const fields = readEvent(event);
    if (fields.e2e_error !== undefined || fields.error !== undefined) throw new ClientError('e2ee_provider_failed');
    const { e2e_init: init, e2e: sealed } = fields;
    if (init !== undefined) {
      if (this.#key !== undefined) throw new ClientError('e2ee_reply_out_of_order');
      const ciphertext = readSealed(init);
      if (ciphertext.length !== kemBytes) throw new ClientError('e2ee_reply_malformed');
      this.#key = await decapsulate(this.#secretKey, ciphertext, 'e2e-stream-v1');
      return [];
    }
    if (sealed !== undefined) return this.#openLine(readSealed(sealed));
    // These counts are for the bill. The reply's own counts are inside the sealed events.
    if (fields.usage !== undefined && Object.keys(fields).length === 1) return [];
    throw new ClientError('e2ee_reply_not_encrypted');
  }

  async #openLine(sealed: Bytes): Promise<readonly string[]> {
    if (this.#key === undefined) throw new ClientError('e2ee_reply_out_of_order');
    if (sealed.length < chacha20.nonceBytes + tagBytes) throw new ClientError('e2ee_reply_malformed');
    const nonce = toHex(sealed.subarray(0, chacha20.nonceBytes));
    if (this.#seen.has(nonce)) throw new ClientError('e2ee_reply_out_of_order');
    this.#seen.add(nonce);
    const text = fromUtf8(await openWith(this.#key, sealed), 'e2ee_reply_malformed');
    return text.split(/\r\n|\n|\r/).flatMap(readLine);
  }
}

/** Returns the payload of one line of the inner stream, if it has one. */
function readLine(line: string): readonly string[] {
  if (line.startsWith('data:')) return [line.slice(5).trim()];
  if (line === '' || line.startsWith(':') || /^(event|id|retry):/.test(line)) return [];
  throw new ClientError('e2ee_reply_malformed');
}

function readEvent(event: string): Readonly<Record<string, unknown>> {
  const fields = parseJson(event);
  if (typeof fields === 'object' && fields !== null) return fields as Record<string, unknown>;
  throw new ClientError('e2ee_reply_not_encrypted');
}

function readSealed(value: unknown): Bytes {
  const bytes = typeof value === 'string' ? fromBase64(value) : undefined;
  if (bytes === undefined) throw new ClientError('e2ee_reply_malformed');
  return bytes;
}
