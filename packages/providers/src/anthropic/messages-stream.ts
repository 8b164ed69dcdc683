import type { AttemptOutcome } from '@sotto/router';
import type { ChatStreamOptions } from '../adapter.ts';
import { asCount, asObject, asString, type JsonObject } from '../json.ts';
import type { ToolCallPiece } from '../openai/content.ts';
import { JsonEventStream } from '../translate/json-event-stream.ts';
import { detailFormats } from '../translate/reasoning-details.ts';
import { finishReasonOfMessages } from '../translate/stop-reason.ts';
import { argumentsText } from '../translate/tool-arguments.ts';
import { OpenToolCalls } from '../translate/tool-calls.ts';
import type { AnswerPiece } from '../translate/translated-stream.ts';
import { classifyEmbedded } from './classify-failure.ts';
import { blockDetails, readMessagesUsage } from './read-message.ts';

/**
 * Reads the event stream of the Messages API.
 * @see https://platform.claude.com/docs/en/build-with-claude/streaming
 */
export class MessagesStream extends JsonEventStream {
  readonly #calls = new OpenToolCalls();

  constructor(options: ChatStreamOptions) {
    super(options, { fields: ['text', 'thinking'], before: 'event: content_block_delta\n' });
  }

  protected override textIn({ type, index, delta: said }: JsonObject): AnswerPiece | undefined {
    const delta = type === 'content_block_delta' ? asObject(said) : undefined;
    if (delta?.type === 'text_delta') return { content: asString(delta.text) };
    if (delta?.type === 'thinking_delta') return thought(asString(delta.thinking), asCount(index));
    return undefined;
  }

  protected override event(event: JsonObject): void {
    switch (event.type) {
      case 'message_start':
        // At the start, the count of the output is that of a token or two.
        this.report({ ...asObject(asObject(event.message)?.usage), output_tokens: undefined }, readMessagesUsage);
        break;
      case 'content_block_start':
        this.#start(event.index, asObject(event.content_block) ?? {});
        break;
      case 'content_block_delta':
        this.#delta(event.index, asObject(event.delta) ?? {});
        break;
      case 'content_block_stop':
        this.#calls.stop(event.index);
        break;
      case 'message_delta':
        this.#finish(asObject(event.delta) ?? {}, event.usage);
        break;
      case 'message_stop':
        this.terminate();
        break;
      case 'error':
        this.fail(classifyEmbedded(event.error));
        break;
      // Ignore `ping`, and event types that the API's versioning policy allows Anthropic to add.
      default:
    }
  }

  /** Texts and thoughts begin empty, except in imitations of the API that send them whole. */
  #start(at: unknown, block: JsonObject): void {
    if (block.type === 'tool_use') this.#startCall(at, block);
    else if (block.type === 'redacted_thinking') this.write({ details: blockDetails(block, asCount(at)) });
    else if (block.type === 'text') this.write({ content: asString(block.text) });
    else if (block.type === 'thinking') this.write(thought(asString(block.thinking), asCount(at)));
  }

  #startCall(at: unknown, block: JsonObject): void {
    const input = argumentsText(block.input) ?? '';
    // A call begins with an empty object, except in imitations of the API that send the arguments at once.
    const given = input === '{}' ? '' : input;
    this.write({ toolCalls: this.#calls.open(at, { id: asString(block.id), name: asString(block.name), given }) });
  }

  #delta(at: unknown, delta: JsonObject): void {
    if (delta.type === 'input_json_delta') {
      this.write({ toolCalls: this.#calls.more(at, argumentsText(delta.partial_json) ?? '') });
    } else if (delta.type === 'signature_delta') {
      const signature = asString(delta.signature);
      const format = detailFormats.anthropic;
      if (signature) this.write({ details: [{ type: 'reasoning.text', signature, format, index: asCount(at) }] });
    }
  }

  #finish(delta: JsonObject, usage: unknown): void {
    const finishReason = finishReasonOfMessages(asString(delta.stop_reason) ?? '');
    if (finishReason !== undefined) this.finish(finishReason);
    this.report(usage, readMessagesUsage);
  }

  protected override closeCalls(isCut: boolean): readonly ToolCallPiece[] {
    return this.#calls.close(isCut);
  }

  protected override failureIn({ error }: JsonObject): AttemptOutcome | undefined {
    return error === undefined ? undefined : classifyEmbedded(error);
  }
}

const thought = (text: string | undefined, index: number | undefined): AnswerPiece =>
  text ? { reasoning: text, details: [{ type: 'reasoning.text', text, format: detailFormats.anthropic, index }] } : {};
