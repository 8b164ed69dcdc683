import { type Bytes, concat } from '../bytes.ts';
import { type PayloadSource, SsePayloads } from '../reply/sse-payloads.ts';
import { FrameReader } from './frames.ts';
import type { RequestSecret } from './hpke.ts';
import { ResponseKey } from './response-key.ts';

/** The payloads of a body that is a sequence of sealed frames. */
export class SealedPayloads implements PayloadSource {
  readonly #frames = new FrameReader();
  readonly #events = new SsePayloads();
  #key: ResponseKey | undefined;

  async begin(secret: RequestSecret, responseNonce: Bytes): Promise<void> {
    this.#key = await ResponseKey.derive(secret, responseNonce);
  }

  async push(bytes: Uint8Array): Promise<readonly string[]> {
    const payloads: string[] = [];
    for (const opened of await this.#open(bytes)) payloads.push(...(await this.#events.push(opened)));
    return payloads;
  }

  async end(): Promise<readonly string[]> {
    this.#frames.end();
    return this.#events.end();
  }

  /** Opens a body that came whole. */
  async openAll(body: Bytes): Promise<Bytes> {
    const opened = await this.#open(body);
    this.#frames.end();
    return concat(...opened);
  }

  close(): void {
    this.#key = undefined;
  }

  async #open(bytes: Uint8Array): Promise<Uint8Array[]> {
    const key = this.#key;
    if (key === undefined) throw new Error('A reply is begun with its headers.');
    const opened: Uint8Array[] = [];
    for (const ciphertext of this.#frames.push(bytes)) opened.push(await key.open(ciphertext));
    return opened;
  }
}
