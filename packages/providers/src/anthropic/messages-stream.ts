import { SseParser } from '@sotto/wire';
import { asObject, asString, type JsonObject, parseJson } from '../json.ts';
import { utf8 } from '../translate/bytes.ts';
import { detailFormats } from '../translate/reasoning-details.ts';
import { TranslatedStream } from '../translate/translated-stream.ts';
import { classifyEmbedded } from './classify-failure.ts';
import { readMessagesUsage } from './messages-usage.ts';
import { blockDetails } from './read-message.ts';
import { finishReasonOf } from './stop-reason.ts';

/** A tool call that is being written. */
interface OpenCall {
  readonly index: number;
  hasArguments: boolean;
}

/**
 * Reads the event stream of the Messages API.
 * @see https://platform.claude.com/docs/en/build-with-claude/streaming
 */
export class MessagesStream extends TranslatedStream {
  readonly #parser = new SseParser({
    onEvent: (data) => this.#event(data),
    onStray: (line) => this.#stray(line),
  });
  readonly #calls = new Map<unknown, OpenCall>();
  #startUsage: unknown;
  #isDone = false;

  protected override take(bytes: string): void {
    this.#parser.push(bytes);
  }

  protected override close(): void {
    this.#parser.end();
  }

  #event(data: string): void {
    if (this.isOver) return;
    this.events += 1;
    const event = asObject(parseJson(utf8(data)));
    if (event === undefined) {
      if (!this.#isDone) this.fail('malformed_answer');
      return;
    }
    switch (event.type) {
      case 'message_start':
        this.#startUsage = asObject(event.message)?.usage;
        break;
      case 'content_block_start':
        this.#start(event.index, asObject(event.content_block) ?? {});
        break;
      case 'content_block_delta':
        this.#delta(event.index, asObject(event.delta) ?? {});
        break;
      case 'content_block_stop':
        this.#stop(event.index);
        break;
      case 'message_delta':
        this.#finish(asObject(event.delta) ?? {}, event.usage);
        break;
      case 'message_stop':
        this.terminate();
        break;
      case 'error':
        if (!this.isComplete) this.fail(classifyEmbedded(event.error));
        break;
      // `ping`, and what the API's versioning policy lets be added.
      default:
    }
  }

  /** Texts and thoughts begin empty, unless an imitation of the API sends them whole. */
  #start(at: unknown, block: JsonObject): void {
    if (block.type === 'tool_use') this.#startCall(at, block);
    else if (block.type === 'redacted_thinking') this.write({ details: blockDetails(block, Number(at)) });
    else if (block.type === 'text') this.write({ content: asString(block.text) });
    else if (block.type === 'thinking') this.#think(asString(block.thinking), Number(at));
  }

  #startCall(at: unknown, block: JsonObject): void {
    const id = asString(block.id);
    const name = asString(block.name);
    if (id === undefined || name === undefined) {
      this.fail('malformed_answer');
      return;
    }
    const given = asObject(block.input) ?? {};
    const hasArguments = Object.keys(given).length > 0;
    const index = this.#calls.size;
    this.#calls.set(at, { index, hasArguments });
    const called = { name, arguments: hasArguments ? JSON.stringify(given) : '' };
    this.write({ toolCalls: [{ index, id, type: 'function', function: called }] });
  }

  #think(text: string | undefined, index: number): void {
    if (!text) return;
    this.write({
      reasoning: text,
      details: [{ type: 'reasoning.text', text, format: detailFormats.anthropic, index }],
    });
  }

  #delta(at: unknown, delta: JsonObject): void {
    if (delta.type === 'text_delta') this.write({ content: asString(delta.text) });
    else if (delta.type === 'thinking_delta') this.#think(asString(delta.thinking), Number(at));
    else if (delta.type === 'input_json_delta') this.#arguments(at, asString(delta.partial_json) ?? '');
    else if (delta.type === 'signature_delta') {
      const signature = asString(delta.signature);
      const format = detailFormats.anthropic;
      if (signature) this.write({ details: [{ type: 'reasoning.text', signature, format, index: Number(at) }] });
    }
  }

  #arguments(at: unknown, piece: string): void {
    const call = this.#calls.get(at);
    if (call === undefined || piece === '') return;
    call.hasArguments = true;
    this.write({ toolCalls: [{ index: call.index, function: { arguments: piece } }] });
  }

  /** A call without arguments is one with an empty object: clients parse what they got. */
  #stop(at: unknown): void {
    const call = this.#calls.get(at);
    if (call !== undefined && !call.hasArguments) this.#arguments(at, '{}');
  }

  #finish(delta: JsonObject, usage: unknown): void {
    const stopReason = asString(delta.stop_reason);
    if (stopReason !== undefined) {
      this.write({ finishReason: finishReasonOf(stopReason) });
      this.#isDone = true;
    }
    this.report(readMessagesUsage(usage, this.#startUsage));
  }

  /** A line that is no event: a JSON error body inside a 200 stream, or noise. */
  #stray(line: string): void {
    if (this.isOver || this.#isDone) return;
    const error = asObject(parseJson(utf8(line)))?.error;
    this.fail(error === undefined ? 'malformed_answer' : classifyEmbedded(error));
  }
}
