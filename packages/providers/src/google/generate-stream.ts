import { SseParser } from '@sotto/wire';
import type { ChatStreamOptions } from '../adapter.ts';
import { asObject, parseJson } from '../json.ts';
import { ToolCallIds } from '../openai/tool-call-ids.ts';
import { utf8 } from '../translate/bytes.ts';
import { TranslatedStream } from '../translate/translated-stream.ts';
import { readUsageMetadata } from './gemini-usage.ts';
import { type Candidate, finishReasonOf, outcomeWithout, readCandidate } from './read-candidate.ts';

/** Reads the event stream of `streamGenerateContent`, which has no terminator: it ends where it is closed. */
export class GenerateStream extends TranslatedStream {
  readonly #parser = new SseParser({
    onEvent: (data) => this.#event(data),
    onStray: (line) => this.#stray(line),
  });
  readonly #ids: ToolCallIds;
  #calls = 0;

  constructor(options: ChatStreamOptions) {
    super(options);
    this.#ids = new ToolCallIds(options.identity.id);
  }

  protected override take(bytes: string): void {
    this.#parser.push(bytes);
  }

  protected override close(): void {
    this.#parser.end();
  }

  #event(data: string): void {
    if (this.isOver) return;
    this.events += 1;
    const raw = asObject(parseJson(utf8(data)));
    if (raw === undefined) {
      if (!this.isComplete) this.fail('malformed_answer');
      return;
    }
    const candidate = readCandidate(raw, this.#ids, this.#calls);
    const outcome = candidate === undefined ? outcomeWithout(raw) : undefined;
    if (outcome !== undefined) this.fail(outcome);
    else if (candidate !== undefined) this.#candidate(candidate);
    this.report(readUsageMetadata(raw.usageMetadata));
  }

  #candidate({ content, reasoning, details, toolCalls, finishReason }: Candidate): void {
    this.#calls += toolCalls.length;
    const finish = finishReason === undefined ? undefined : finishReasonOf(finishReason, this.#calls > 0);
    if (finishReason !== undefined && finish === undefined) this.fail('malformed_answer');
    else this.write({ content, reasoning, details, toolCalls, finishReason: finish });
  }

  /** A line that is no event: a JSON error body inside a 200 stream, or noise. */
  #stray(line: string): void {
    if (this.isOver || this.isComplete) return;
    this.fail(outcomeWithout(asObject(parseJson(utf8(line))) ?? {}) ?? 'malformed_answer');
  }
}
