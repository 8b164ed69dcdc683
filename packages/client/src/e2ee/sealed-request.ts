import { maxAnswerBytes } from '../bounded-body.ts';
import { ClientError } from '../errors.ts';
import { type Bytes, copy, utf8 } from './bytes.ts';
import type { EnclaveKey } from './enclave-key.ts';
import type { ReplyOpener, Sealing } from './family.ts';

/** Limit of one reply, in bytes: each token is sealed and framed. */
export const maxReplyBytes = 2 * maxAnswerBytes;

/**
 * A sealed chat request that can open its one reply. Send `body` and `headers` unchanged. For an answer with status
 * 200, call `openWhole` or `openStream`, as the request asked. Never pass answers of another status: the service writes
 * them unencrypted and unauthenticated.
 *
 * The result is an OpenAI-shaped completion, or a stream of chunks, under the model name that the caller used. Failures
 * are `ClientError`s with codes `e2ee_*`. Chunks that a stream emitted before a failure remain valid.
 */
export class SealedRequest {
  readonly family: EnclaveKey['family'];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Bytes;
  #opener: ReplyOpener | undefined;

  constructor({ family, headers, body, opener }: Sealing & { readonly family: EnclaveKey['family'] }) {
    this.family = family;
    this.headers = headers;
    this.body = body;
    this.#opener = opener;
  }

  /** Opens a reply that arrived whole. Returns the completion's JSON. */
  async openWhole(headers: Headers, body: Uint8Array): Promise<string> {
    const opener = this.#take();
    try {
      if (body.length > maxReplyBytes) throw new ClientError('e2ee_reply_too_large');
      await opener.begin(headers);
      return await opener.openWhole(copy(body));
    } finally {
      opener.close();
    }
  }

  /** Opens a reply as it arrives. Pipe its body through: the output is server-sent events, the last of them `[DONE]`. */
  openStream(headers: Headers): TransformStream<Uint8Array, Uint8Array> {
    return new TransformStream(new OpeningTransformer(this.#take(), headers));
  }

  /** Erases the keys of a request whose reply will not be opened. */
  discard(): void {
    this.#opener?.close();
    this.#opener = undefined;
  }

  #take(): ReplyOpener {
    const opener = this.#opener;
    if (opener === undefined) throw new Error('A sealed request opens one reply, once.');
    this.#opener = undefined;
    return opener;
  }
}

class OpeningTransformer implements Transformer<Uint8Array, Uint8Array> {
  readonly #opener: ReplyOpener;
  readonly #headers: Headers;
  #received = 0;

  constructor(opener: ReplyOpener, headers: Headers) {
    this.#opener = opener;
    this.#headers = headers;
  }

  start(): Promise<void> {
    return this.#guarded(() => this.#opener.begin(this.#headers));
  }

  transform(bytes: Uint8Array, out: TransformStreamDefaultController<Uint8Array>): Promise<void> {
    return this.#guarded(async () => {
      this.#received += bytes.length;
      if (this.#received > maxReplyBytes) throw new ClientError('e2ee_reply_too_large');
      give(out, await this.#opener.push(copy(bytes)));
    });
  }

  async flush(out: TransformStreamDefaultController<Uint8Array>): Promise<void> {
    await this.#guarded(async () => give(out, await this.#opener.end()));
    this.#opener.close();
  }

  cancel(): void {
    this.#opener.close();
  }

  async #guarded(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#opener.close();
      throw error;
    }
  }
}

function give(out: TransformStreamDefaultController<Uint8Array>, text: string): void {
  if (text !== '') out.enqueue(utf8(text));
}
