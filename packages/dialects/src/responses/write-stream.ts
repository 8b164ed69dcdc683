import { sseKeepAlive } from '@sotto/wire';
import { type AnswerBlock, type BlockStart, isCutOff } from '../answer-blocks.ts';
import { answerIdOf } from '../answer-id.ts';
import { type AnswerEnd, AnswerStream } from '../answer-stream.ts';
import type { ChatFailure } from '../chat-failure.ts';
import type { AnswerChunk } from '../chat-stream.ts';
import type { JsonObject } from '../json.ts';
import { isBuiltIn, type ToolNames } from '../tool-names.ts';
import { CustomInputReader } from './custom-input.ts';
import { codexError, openAiError } from './failure-answer.ts';
import { contentPart, doneItem, itemId, startedItem } from './write-item.ts';
import { type ResponseStanding, responseObject, standingAtEnd } from './write-response.ts';

export interface ResponseStreamParts {
  readonly asked: JsonObject;
  readonly names: ToolNames;
  /** The model that was asked for, in case that the answer never names one. */
  readonly requested: string;
  /** Whether Codex asks. It would repeat an answer that is incomplete or failed in the usual form. */
  readonly isCodex: boolean;
  /** Called with the id and the items of an answer that is whole. */
  readonly onWhole: (id: string, output: readonly object[]) => void;
}

/**
 * Writes a streamed chat answer as the events of the Responses API.
 *
 * @see https://platform.openai.com/docs/api-reference/responses-streaming
 */
export class ResponseStream extends AnswerStream {
  readonly #parts: ResponseStreamParts;
  readonly #output: object[] = [];
  #sequence = 0;
  protected answerId = '';
  #createdAt = 0;
  #model: string;
  #kind: BlockStart['kind'] | undefined;
  #itemId = '';
  #custom: CustomInputReader | undefined;
  #isBuiltIn = false;
  #hasPart = false;

  constructor(parts: ResponseStreamParts) {
    super();
    this.#parts = parts;
    this.#model = parts.requested;
  }

  protected writeStart({ id, model, created }: AnswerChunk): void {
    this.answerId = answerIdOf(id);
    this.#createdAt = created ?? 0;
    this.#model = model ?? this.#model;
    const response = this.#response({ status: 'in_progress' });
    this.#event('response.created', { response });
    this.#event('response.in_progress', { response });
  }

  protected writeKeepAlive(): void {
    this.write(sseKeepAlive);
  }

  protected writeEnd({ finishReason, usage }: AnswerEnd): void {
    const standing = standingAtEnd(finishReason, usage);
    this.#parts.onWhole(`resp_${this.answerId}`, this.#output);
    // Codex runs the turn again after `response.incomplete`, and would pay for it again.
    const type = this.#parts.isCodex ? 'completed' : standing.status;
    this.#event(`response.${type}`, { response: this.#response(standing) });
  }

  protected writeFailure(failure: ChatFailure): void {
    this.start({});
    const { isCodex } = this.#parts;
    const error = isCodex ? codexError(failure) : openAiError(failure);
    const { code, message, param } = error;
    // OpenAI's SDKs throw at an event with an `error`. Codex reads the event after it.
    if (!isCodex) this.#event('error', { code, message, param, error });
    // OpenAI's types know few codes within a response. Codex reads more.
    const known = isCodex || code === 'rate_limit_exceeded' ? code : 'server_error';
    this.#event('response.failed', { response: this.#response({ status: 'failed', error: { code: known, message } }) });
  }

  onStart(block: BlockStart): void {
    const { names } = this.#parts;
    this.#kind = block.kind;
    this.#hasPart = false;
    this.#itemId = itemId(block, names, this.answerId, this.#output.length);
    const tool = block.kind === 'call' ? names.named(block.name) : undefined;
    this.#custom = tool?.kind === 'custom' ? new CustomInputReader() : undefined;
    // The item of a built-in tool has no place for arguments that are not whole.
    this.#isBuiltIn = tool !== undefined && isBuiltIn(tool);
    if (this.#isBuiltIn) return;
    this.#itemEvent('response.output_item.added', { item: startedItem(block, this.#itemId, names) });
  }

  onText(text: string): void {
    switch (this.#kind) {
      case 'reasoning':
        this.#startSummary();
        this.#partEvent('response.reasoning_summary_text.delta', { summary_index: 0, delta: text });
        return;
      case 'call':
        this.#callText(text);
        return;
      case 'refusal':
        this.#startPart('refusal');
        this.#partEvent('response.refusal.delta', { content_index: 0, delta: text });
        return;
      default:
        this.#startPart('text');
        this.#partEvent('response.output_text.delta', { content_index: 0, delta: text, logprobs: [] });
        return;
    }
  }

  onEnd(block: AnswerBlock): void {
    const { finishReason } = this;
    const { names, isCodex } = this.#parts;
    const isCut = isCutOff(block, finishReason);
    const item = doneItem(block, { id: this.#itemId, names, finishReason });
    // Codex would run the call, whatever its status.
    if (item === undefined || (isCut && isCodex)) return;
    switch (block.kind) {
      case 'reasoning':
        this.#endSummary(block.text);
        break;
      case 'call':
        if (this.#isBuiltIn) {
          this.addWhole(item);
          return;
        }
        this.#endCall(block.text, isCut);
        break;
      default:
        this.#endPart(block);
    }
    this.#done(item);
  }

  /** Writes an item that has no events of its own. */
  protected addWhole(item: object): void {
    this.#itemEvent('response.output_item.added', { item });
    this.#done(item);
  }

  #done(item: object): void {
    this.#itemEvent('response.output_item.done', { item });
    this.#output.push(item);
  }

  #callText(text: string): void {
    if (this.#isBuiltIn) return;
    if (this.#custom === undefined) {
      this.#partEvent('response.function_call_arguments.delta', { delta: text });
      return;
    }
    const delta = this.#custom.push(text);
    if (delta !== '') this.#partEvent('response.custom_tool_call_input.delta', { delta });
  }

  #endCall(text: string, isCut: boolean): void {
    if (this.#custom === undefined) {
      this.#partEvent('response.function_call_arguments.done', { arguments: text || (isCut ? '' : '{}') });
      return;
    }
    const { input, rest } = this.#custom.end(isCut);
    if (rest !== '') this.#partEvent('response.custom_tool_call_input.delta', { delta: rest });
    this.#partEvent('response.custom_tool_call_input.done', { input });
  }

  #startSummary(): void {
    if (this.#hasPart) return;
    this.#hasPart = true;
    const part = { type: 'summary_text', text: '' };
    this.#partEvent('response.reasoning_summary_part.added', { summary_index: 0, part });
  }

  #endSummary(text: string): void {
    if (!this.#hasPart) return;
    this.#partEvent('response.reasoning_summary_text.done', { summary_index: 0, text });
    const part = { type: 'summary_text', text };
    this.#partEvent('response.reasoning_summary_part.done', { summary_index: 0, part });
  }

  #startPart(kind: 'text' | 'refusal'): void {
    if (this.#hasPart) return;
    this.#hasPart = true;
    this.#partEvent('response.content_part.added', { content_index: 0, part: contentPart({ kind, text: '' }) });
  }

  #endPart(block: Extract<AnswerBlock, { kind: 'text' | 'refusal' }>): void {
    const { kind, text } = block;
    if (kind === 'refusal') this.#partEvent('response.refusal.done', { content_index: 0, refusal: text });
    else this.#partEvent('response.output_text.done', { content_index: 0, text, logprobs: [] });
    this.#partEvent('response.content_part.done', { content_index: 0, part: contentPart(block) });
  }

  #response(standing: ResponseStanding): object {
    const state = { answerId: this.answerId, createdAt: this.#createdAt, model: this.#model, output: this.#output };
    return responseObject(state, standing, this.#parts.asked);
  }

  #itemEvent(type: string, fields: object): void {
    this.#event(type, { output_index: this.#output.length, ...fields });
  }

  #partEvent(type: string, fields: object): void {
    this.#event(type, { item_id: this.#itemId, output_index: this.#output.length, ...fields });
  }

  #event(type: string, fields: object): void {
    this.event({ type, sequence_number: this.#sequence, ...fields });
    this.#sequence += 1;
  }
}
