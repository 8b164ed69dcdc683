import type { AnswerBlock, BlockStart } from '../answer-blocks.ts';
import { type AnswerEnd, AnswerStream } from '../answer-stream.ts';
import type { ChatFailure } from '../chat-failure.ts';
import type { AnswerChunk } from '../chat-stream.ts';
import { errorBody } from './errors.ts';
import { candidate, finishReason, PartWriter, usageMetadata, type WritingOptions } from './write-content.ts';

/**
 * Writes a streamed chat answer as Google's API does: as server-sent events, or as a JSON list that grows.
 *
 * @see https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent
 */
export class GeminiStream extends AnswerStream {
  readonly #sse: boolean;
  readonly #parts: PartWriter;
  #kind: BlockStart['kind'] = 'text';
  #identity: object;
  #isFirst = true;

  constructor({ requested, sse, ...options }: WritingOptions & { readonly requested: string; readonly sse: boolean }) {
    super();
    this.#sse = sse;
    this.#parts = new PartWriter(options);
    this.#identity = { modelVersion: requested };
  }

  protected writeStart({ id, model }: AnswerChunk): void {
    this.#identity = {
      ...this.#identity,
      ...(model === undefined ? {} : { modelVersion: model }),
      ...(id === undefined ? {} : { responseId: id }),
    };
  }

  /** Writes an empty line. Google's SDKs cannot read comments. */
  protected writeKeepAlive(): void {
    this.write('\n');
  }

  protected writeEnd({ finishReason: finish, usage }: AnswerEnd): void {
    this.#answer({
      candidates: [candidate([{ text: '' }], finishReason(finish))],
      usageMetadata: usageMetadata(usage),
    });
    if (!this.#sse) this.write(']');
  }

  /** Google's SDKs look for an error that is no event. */
  protected writeFailure(failure: ChatFailure): void {
    if (this.#sse) this.write(`${JSON.stringify(errorBody(failure))}\n\n`);
    else {
      this.#element(errorBody(failure));
      this.write(']');
    }
  }

  onStart({ kind }: BlockStart): void {
    this.#kind = kind;
  }

  onText(text: string): void {
    // A call is written when it is whole.
    if (this.#kind !== 'call') this.#write(this.#parts.text(this.#kind, text));
  }

  onEnd(block: AnswerBlock): void {
    this.#write(this.#parts.end(block, this.finishReason));
  }

  #write(parts: readonly object[]): void {
    if (parts.length > 0) this.#answer({ candidates: [candidate(parts)] });
  }

  #answer(fields: object): void {
    const answer = { ...fields, ...this.#identity };
    if (this.#sse) this.write(`data: ${JSON.stringify(answer)}\n\n`);
    else this.#element(answer);
  }

  #element(element: object): void {
    this.write(`${this.#isFirst ? '[' : ',\n'}${JSON.stringify(element)}`);
    this.#isFirst = false;
  }
}
