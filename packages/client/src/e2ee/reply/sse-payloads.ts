import { SseEventTooLargeError, SseParser } from '@sotto/wire';
import { ClientError } from '../../errors.ts';

/** Limit of a single event, in characters. */
const maxEventChars = 16 * 1024 * 1024;

/** Extracts the payloads from the bytes of a reply, in order. */
export interface PayloadSource {
  push(bytes: Uint8Array): Promise<readonly string[]>;
  end(): Promise<readonly string[]>;
}

/** Reads the `data` of server-sent events, from bytes in any split. Rejects unknown lines and invalid UTF-8. */
export class SsePayloads implements PayloadSource {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  readonly #parser: SseParser;
  #payloads: string[] = [];

  constructor() {
    this.#parser = new SseParser({
      onEvent: (data) => this.#payloads.push(data),
      onUnknownLine: () => {
        throw new ClientError('e2ee_reply_malformed');
      },
      maxEventChars,
    });
  }

  async push(bytes: Uint8Array): Promise<readonly string[]> {
    return this.#take(() => this.#parser.push(this.#decoder.decode(bytes, { stream: true })));
  }

  async end(): Promise<readonly string[]> {
    return this.#take(() => {
      this.#parser.push(this.#decoder.decode());
      this.#parser.end();
    });
  }

  #take(step: () => void): readonly string[] {
    try {
      step();
    } catch (error) {
      if (error instanceof ClientError) throw error;
      throw new ClientError(error instanceof SseEventTooLargeError ? 'e2ee_reply_too_large' : 'e2ee_reply_malformed');
    }
    const payloads = this.#payloads;
    this.#payloads = [];
    return payloads;
  }
}
