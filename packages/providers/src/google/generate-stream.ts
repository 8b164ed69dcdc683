import type { AttemptOutcome } from '@sotto/router';
import type { ChatStreamOptions } from '../adapter.ts';
import type { JsonObject } from '../json.ts';
import { ToolCallIds } from '../openai/tool-call-ids.ts';
import { JsonEventStream } from '../translate/json-event-stream.ts';
import { readUsageMetadata } from './gemini-usage.ts';
import { PartialCalls } from './partial-calls.ts';
import {
  type Candidate,
  type CandidateCalls,
  finishReasonOf,
  outcomeWithout,
  readCandidate,
} from './read-candidate.ts';

/** Reads the event stream of `streamGenerateContent`, which has no terminator: it ends where it is closed. */
export class GenerateStream extends JsonEventStream {
  readonly #calls: CandidateCalls;
  #hasCalls = false;

  constructor(options: ChatStreamOptions) {
    super(options);
    this.#calls = { ids: new ToolCallIds(options.identity.id), partial: new PartialCalls() };
  }

  protected override event(raw: JsonObject): void {
    const candidate = readCandidate(raw, this.#calls);
    const outcome = candidate === undefined ? outcomeWithout(raw) : undefined;
    if (outcome !== undefined) this.fail(outcome);
    else if (candidate !== undefined) this.#candidate(candidate);
    this.report(readUsageMetadata(raw.usageMetadata));
  }

  #candidate({ content, reasoning, details, toolCalls, finishReason }: Candidate): void {
    this.#hasCalls ||= toolCalls.length > 0;
    const finish = finishReason === undefined ? undefined : finishReasonOf(finishReason, this.#hasCalls);
    if (finishReason !== undefined && finish === undefined) this.fail('malformed_answer');
    else this.write({ content, reasoning, details, toolCalls, finishReason: finish });
  }

  protected override failureIn(body: JsonObject): AttemptOutcome | undefined {
    return outcomeWithout(body);
  }
}
