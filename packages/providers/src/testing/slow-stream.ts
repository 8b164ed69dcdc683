import type { AttemptOutcome } from '@sotto/router';
import type { ReportedUsage } from '../adapter.ts';
import { type CompleteChunk, failedFinish, isOutput, readChunk, writeChunk } from '../openai/chunk.ts';
import { embeddedFailure } from '../openai/classify-failure.ts';
import { ThinkTags } from '../openai/think-tags.ts';
import { ToolCallIds } from '../openai/tool-call-ids.ts';
import { readUsage } from '../openai/usage.ts';
import { ours } from './fixtures.ts';

/** The result of reading a stream. */
export interface SlowReading {
  readonly chunks: unknown[];
  failure: AttemptOutcome | undefined;
  isComplete: boolean;
  isTerminated: boolean;
  hasOutput: boolean;
  reported: ReportedUsage | undefined;
  producedBytes: number;
  reportedAtBytes: number;
  events: number;
}

/**
 * Reads a whole stream the slow and obvious way: it splits it into lines, and parses and rewrites every event. Tests
 * compare it with the reader that copies events by template.
 */
export function readSlowly(stream: Buffer, { stripReasoning }: { readonly stripReasoning: boolean }): SlowReading {
  const ids = new ToolCallIds(ours.id);
  const read: SlowReading = {
    chunks: [],
    failure: undefined,
    isComplete: false,
    isTerminated: false,
    hasOutput: false,
    reported: undefined,
    producedBytes: 0,
    reportedAtBytes: 0,
    events: 0,
  };
  let isFinished = false;
  const tags = new ThinkTags();

  const write = (chunk: CompleteChunk): void => {
    read.hasOutput ||= isOutput(chunk);
    isFinished ||= chunk.finishReason !== undefined;
    const texts = [chunk.content, chunk.reasoning, chunk.refusal];
    const calls = chunk.toolCalls.flatMap((call) => [call.function.name, call.function.arguments]);
    read.producedBytes += Buffer.byteLength([...texts, ...calls].map((text) => text ?? '').join(''));
    let { content } = chunk;
    if (stripReasoning && !tags.isDone) {
      const text = tags.take(content ?? '') + (isFinished ? tags.end() : '');
      content = text === '' && content !== '' ? undefined : text;
    }
    const hid = stripReasoning && content === undefined && (chunk.reasoning ?? chunk.content) !== undefined;
    if (hid && !chunk.role && !chunk.finishReason && chunk.toolCalls.length === 0) return;
    const shown = { ...chunk, content, role: chunk.role || read.chunks.length === 0 };
    read.chunks.push(JSON.parse(JSON.stringify(writeChunk(shown, ours, stripReasoning))));
  };

  const onEvent = (source: string): void => {
    read.events += 1;
    if (source.trim() === '[DONE]') {
      read.isTerminated = true;
      return;
    }
    const raw = parsed(source);
    if (raw === undefined) {
      if (source.trim() !== '' && !isFinished) read.failure = 'malformed_answer';
      return;
    }
    const chunk = readChunk(raw);
    if (chunk.failure !== undefined) {
      if (!isFinished) read.failure = chunk.failure;
      return;
    }
    const { finishReason } = chunk;
    if (finishReason === failedFinish) {
      if (!isFinished) read.failure = 'server_error';
    } else {
      const toolCalls = ids.complete(chunk.toolCalls);
      if (finishReason !== undefined) toolCalls.push(...ids.close());
      if (chunk.hasChoice && (!isFinished || finishReason !== undefined)) write({ ...chunk, toolCalls, finishReason });
      const reported = readUsage(chunk.usage);
      if (reported === undefined) return;
      read.reported = reported;
      read.reportedAtBytes = read.producedBytes;
    }
  };

  for (const item of splitEvents(stream.toString('utf8').replace(/^\ufeff/, ''))) {
    if (read.isTerminated || read.failure !== undefined) break;
    if ('data' in item) onEvent(item.data);
    else if (!isFinished) {
      read.failure = embeddedFailure({ error: parsed(item.unknown)?.error }) ?? 'malformed_answer';
    }
  }
  read.isComplete = isFinished || read.isTerminated;
  return read;
}

function* splitEvents(stream: string): Generator<{ readonly data: string } | { readonly unknown: string }> {
  let lines: string[] = [];
  for (const line of [...stream.split(/\r\n|\r|\n/), '']) {
    if (line === '') {
      if (lines.length > 0) yield { data: lines.join('\n') };
      lines = [];
      continue;
    }
    const [, name, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'data') lines.push(value ?? '');
    else if (name === 'error' && line.includes(':')) yield { unknown: line };
    else if (!/^(|event|id|retry)$/.test(name ?? '') && !/^[a-z][\w-]*:/i.test(line)) yield { unknown: line };
  }
}

function parsed(source: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(source);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
