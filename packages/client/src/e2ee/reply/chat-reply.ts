import { sseDone, sseFrame } from '@sotto/wire';
import { ClientError } from '../../errors.ts';
import { type Bytes, fromUtf8 } from '../bytes.ts';
import type { ReplyOpener } from '../family.ts';
import { type OpenCompletion, openCompletion, type ReplyReading } from './completion.ts';
import { joinChunks } from './join-chunks.ts';
import type { PayloadSource } from './sse-payloads.ts';

export interface ChatReplyParts {
  readonly reading: ReplyReading;
  /** The payloads of a streamed reply: chunks in JSON, then `[DONE]`. */
  readonly source: PayloadSource;
  /** The JSON of a reply that came whole; undefined where the family streams always, and a whole reply is joined. */
  readonly unwrapWhole: ((body: Bytes) => Promise<Bytes>) | undefined;
  begin(headers: Headers): Promise<void>;
  close(): void;
}

/**
 * What all families share once their wrapping is off: reads chunks or a completion, and says when a reply is complete.
 * A stream is complete with a finish reason and then `[DONE]`; nothing may follow it.
 */
export class ChatReply implements ReplyOpener {
  readonly #parts: ChatReplyParts;
  #isDone = false;
  #hasFinished = false;

  constructor(parts: ChatReplyParts) {
    this.#parts = parts;
  }

  begin(headers: Headers): Promise<void> {
    return this.#parts.begin(headers);
  }

  async openWhole(body: Bytes): Promise<string> {
    const { reading, source, unwrapWhole } = this.#parts;
    if (unwrapWhole === undefined) {
      const chunks = await this.#chunks([...(await source.push(body)), ...(await source.end())]);
      this.#assertComplete();
      return JSON.stringify(joinChunks(chunks));
    }
    const json = fromUtf8(await unwrapWhole(body), 'e2ee_reply_malformed');
    const completion = await openCompletion(parse(json), 'message', reading);
    const [choice] = completion.choices;
    if (choice === undefined || choice.finish_reason === null) throw new ClientError('e2ee_reply_truncated');
    return JSON.stringify(completion);
  }

  async push(bytes: Bytes): Promise<string> {
    return this.#write(await this.#parts.source.push(bytes));
  }

  async end(): Promise<string> {
    const text = await this.#write(await this.#parts.source.end());
    this.#assertComplete();
    return text;
  }

  close(): void {
    this.#parts.close();
  }

  async #write(payloads: readonly string[]): Promise<string> {
    const wasDone = this.#isDone;
    const chunks = await this.#chunks(payloads);
    // A chunk for usage alone, which the caller did not ask for, has nothing left to say.
    const said = chunks.filter((chunk) => chunk.choices.length > 0 || chunk.usage !== undefined);
    return said.map((chunk) => sseFrame(JSON.stringify(chunk))).join('') + (this.#isDone && !wasDone ? sseDone : '');
  }

  async #chunks(payloads: readonly string[]): Promise<OpenCompletion[]> {
    const chunks: OpenCompletion[] = [];
    for (const payload of payloads) {
      if (this.#isDone) throw new ClientError('e2ee_reply_malformed');
      if (payload === '[DONE]') {
        if (!this.#hasFinished) throw new ClientError('e2ee_reply_truncated');
        this.#isDone = true;
        continue;
      }
      const chunk = await openCompletion(parse(payload), 'delta', this.#parts.reading);
      this.#hasFinished ||= chunk.choices.some((choice) => choice.finish_reason !== null);
      chunks.push(chunk);
    }
    return chunks;
  }

  #assertComplete(): void {
    if (!this.#isDone) throw new ClientError('e2ee_reply_truncated');
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new ClientError('e2ee_reply_malformed');
  }
}
