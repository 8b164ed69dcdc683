import { parseJson } from '@sotto/wire';
import { asCount, asObject, asString, type JsonObject } from '../json.ts';
import type { ToolCallPiece } from '../openai/content.ts';
import { converseFailures, finishReasonOfConverse } from '../translate/stop-reason.ts';
import { argumentsText } from '../translate/tool-arguments.ts';
import { OpenToolCalls } from '../translate/tool-calls.ts';
import { TranslatedStream } from '../translate/translated-stream.ts';
import { outcomeOfException } from './classify-failure.ts';
import { type EventStreamMessage, EventStreamParser } from './event-stream.ts';
import { readConverseUsage } from './read-converse.ts';
import { reasoningDetail } from './reasoning.ts';

/**
 * Reads the event stream of ConverseStream.
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
 */
export class ConverseStream extends TranslatedStream {
  readonly #parser = new EventStreamParser((message) => this.#message(message));
  readonly #calls = new OpenToolCalls();
  #isStopped = false;
  #hasUsage = false;

  protected override take(bytes: string): void {
    this.#parser.push(bytes);
  }

  protected override close(): void {
    if (!this.#parser.isBetweenMessages) this.fail('malformed_answer');
  }

  #message({ headers, payload }: EventStreamMessage): void {
    if (this.isOver) return;
    this.events += 1;
    if (headers.get(':message-type') !== 'event') {
      this.fail(outcomeOfException(headers.get(':exception-type'), payload));
      return;
    }
    const event = asObject(parseJson(payload));
    if (event === undefined) this.fail('malformed_answer');
    else this.#event(headers.get(':event-type'), event);
    // Usage and the stop reason arrive in either order. Nothing follows after both.
    if (this.#isStopped && this.#hasUsage) this.terminate();
  }

  #event(type: string | undefined, event: JsonObject): void {
    const at = event.contentBlockIndex;
    switch (type) {
      case 'contentBlockStart':
        this.#start(at, asObject(asObject(event.start)?.toolUse));
        break;
      case 'contentBlockDelta':
        this.#delta(at, asObject(event.delta) ?? {});
        break;
      case 'contentBlockStop':
        this.#calls.stop(at);
        break;
      case 'messageStop':
        this.#finish(asString(event.stopReason) ?? '');
        break;
      case 'metadata':
        this.#hasUsage = true;
        this.report(event.usage, readConverseUsage);
        break;
      // Ignore `messageStart`, and event types that Bedrock may add.
      default:
    }
  }

  #start(at: unknown, called: JsonObject | undefined): void {
    if (called === undefined) return;
    this.write({ toolCalls: this.#calls.open(at, { id: asString(called.toolUseId), name: asString(called.name) }) });
  }

  #delta(at: unknown, delta: JsonObject): void {
    const thought = asObject(delta.reasoningContent);
    const called = asObject(delta.toolUse);
    if (thought !== undefined) {
      this.write({ reasoning: asString(thought.text), details: reasoningDetail(thought, asCount(at)) });
    } else if (called !== undefined) {
      this.write({ toolCalls: this.#calls.more(at, argumentsText(called.input) ?? '') });
    } else this.write({ content: asString(delta.text) });
  }

  #finish(stopReason: string): void {
    if (converseFailures.has(stopReason)) this.fail('malformed_answer');
    else this.finish(finishReasonOfConverse(stopReason));
    this.#isStopped = true;
  }

  protected override closeCalls(isCut: boolean): readonly ToolCallPiece[] {
    return this.#calls.close(isCut);
  }
}
