import { parseJson, sseDone, sseFrame, sseKeepAlive } from '@sotto/wire';
import { ClientError } from '../../errors.ts';
import { type Bytes, fromUtf8 } from '../bytes.ts';
import type { ReplyOpener } from '../family.ts';
import { type OpenCompletion, openCompletion, protectedFields, type ReplyReading } from './completion.ts';
import type { PayloadSource } from './sse-payloads.ts';

export interface ChatReplyParts {
  readonly reading: ReplyReading;
  /** The payloads of a streamed reply: chunks in JSON, then `[DONE]`. */
  readonly source: PayloadSource;
  /**
   * Returns the JSON of a whole reply. Undefined if the family always streams; the chunks of a whole reply are joined
   * then.
   */
  readonly unwrapWhole: ((body: Bytes) => Promise<Bytes>) | undefined;
  begin(headers: Headers): Promise<void>;
  close(): void;
}

/**
 * The steps that all families share after their own unwrapping: it reads chunks or a completion and decides whether the
 * reply is complete. A complete stream has a finish reason, then `[DONE]`, and nothing after it.
 */
export class ChatReply implements ReplyOpener {
  readonly #parts: ChatReplyParts;
  #isDone = false;
  #hasFinished = false;
  #hasRole = false;

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
    const completion = await openCompletion(parseJson(json), 'message', reading);
    const [choice] = completion.choices;
    if (choice === undefined || choice.finish_reason === null) throw new ClientError('e2ee_reply_truncated');
    return JSON.stringify(completion);
  }

  async push(bytes: Bytes): Promise<string> {
    return (await this.#write(await this.#parts.source.push(bytes))) || sseKeepAlive;
  }

  async end(): Promise<string> {
    const text = await this.#write(await this.#parts.source.end());
    this.#assertComplete();
    // Not before: bytes after the terminator would be part of the reply, too.
    return text + sseDone;
  }

  close(): void {
    this.#parts.close();
  }

  async #write(payloads: readonly string[]): Promise<string> {
    const chunks = await this.#chunks(payloads);
    // Drop a chunk that carries only usage if the caller did not ask for usage.
    const said = chunks.filter((chunk) => chunk.choices.length > 0 || chunk.usage !== undefined);
    return said.map((chunk) => sseFrame(JSON.stringify(this.#withRole(chunk)))).join('');
  }

  /** Adds the role to the first choice only. Some clients join what later ones repeat. */
  #withRole(chunk: OpenCompletion): OpenCompletion {
    const [choice] = chunk.choices;
    if (this.#hasRole || choice === undefined) return chunk;
    this.#hasRole = true;
    return { ...chunk, choices: [{ ...choice, delta: { role: 'assistant', ...choice.delta } }] };
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
      const chunk = await openCompletion(parseJson(payload), 'delta', this.#parts.reading);
      this.#hasFinished ||= chunk.choices.some((choice) => choice.finish_reason !== null);
      chunks.push(chunk);
    }
    return chunks;
  }

  #assertComplete(): void {
    if (!this.#isDone) throw new ClientError('e2ee_reply_truncated');
  }
}

/** Joins the chunks of a stream into one completion, for families that only stream. */
function joinChunks(chunks: readonly OpenCompletion[]): OpenCompletion {
  const texts: Record<string, string> = {};
  let finishReason: string | null = null;
  let usage: unknown;
  for (const chunk of chunks) {
    usage = chunk.usage ?? usage;
    for (const choice of chunk.choices) {
      finishReason = choice.finish_reason ?? finishReason;
      for (const name of protectedFields) {
        const piece = choice.delta?.[name];
        if (typeof piece === 'string') texts[name] = (texts[name] ?? '') + piece;
      }
    }
  }
  const [first] = chunks;
  return {
    id: first?.id ?? '',
    object: 'chat.completion',
    created: first?.created ?? 0,
    model: first?.model ?? '',
    system_fingerprint: '',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: null, refusal: null, ...texts },
        logprobs: null,
        finish_reason: finishReason,
      },
    ],
    ...(usage === undefined ? {} : { usage }),
  };
}
