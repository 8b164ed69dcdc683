import type { AttemptOutcome } from '@sotto/router';
import type { FinishReason } from '@sotto/wire';
import type { ReportedUsage } from '../adapter.ts';
import { type CompleteChunk, failedFinish, isOutput, readChunk, withoutOutput, writeChunk } from '../openai/chunk.ts';
import { embeddedFailure } from '../openai/classify-failure.ts';
import { ThinkTags } from '../openai/think-tags.ts';
import { ToolCallIds } from '../openai/tool-call-ids.ts';
import { readUsage } from '../openai/usage.ts';
import { finalReason, isCutOff } from '../translate/stop-reason.ts';
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
  let reason: FinishReason | undefined;
  let hasCalls = false;
  let isUsageFinal = false;
  const tags = new ThinkTags();

  const send = (chunk: CompleteChunk): void => {
    const shown = writeChunk(chunk, { identity: ours, stripReasoning }, read.chunks.length === 0);
    read.chunks.push(JSON.parse(JSON.stringify(shown)));
  };
  const count = (chunk: CompleteChunk): void => {
    read.hasOutput ||= isOutput(chunk);
    hasCalls ||= chunk.toolCalls.length > 0;
    const texts = [chunk.content, chunk.reasoning, chunk.refusal];
    const calls = chunk.toolCalls.flatMap((call) => [call.function.name, call.function.arguments]);
    read.producedBytes += Buffer.byteLength([...texts, ...calls].map((text) => text ?? '').join(''));
  };
  const write = (chunk: CompleteChunk): void => {
    count(chunk);
    let { content } = chunk;
    if (stripReasoning && !tags.isDone) {
      const text = tags.take(content ?? '');
      content = text === '' && content !== '' ? undefined : text;
    }
    const hid = stripReasoning && content === undefined && (chunk.reasoning ?? chunk.content) !== undefined;
    if (hid && !chunk.refusal && chunk.toolCalls.length === 0) return;
    send({ ...chunk, content });
  };
  /** The finish reason comes last, because further calls may follow it. */
  const end = (): void => {
    if (ids.lacksName) {
      // No client could run a call without a name.
      read.failure = 'malformed_answer';
      return;
    }
    const toolCalls = ids.close(isCutOff(reason));
    const isCovered = isUsageFinal || read.reportedAtBytes === read.producedBytes;
    count({ ...withoutOutput, toolCalls });
    if (isCovered && read.reported !== undefined) read.reportedAtBytes = read.producedBytes;
    if (!read.hasOutput) return;
    const rest = stripReasoning && !tags.isDone ? tags.end() : '';
    send({ ...withoutOutput, content: rest || undefined, toolCalls, finishReason: finalReason(reason, hasCalls) });
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
      const said: CompleteChunk = isFinished
        ? { ...withoutOutput, toolCalls }
        : { ...chunk, toolCalls, finishReason: undefined };
      const mayBeEmpty = !isFinished && finishReason === undefined && chunk.toolCalls.length === 0;
      if (chunk.hasChoice && (mayBeEmpty || isOutput(said))) write(said);
      if (finishReason !== undefined) {
        if (ids.lacksName) {
          read.failure = 'malformed_answer';
          return;
        }
        isFinished = true;
        read.hasOutput = true;
        if (reason === undefined || reason === 'stop' || reason === 'tool_calls') reason = finishReason;
      }
      const reported = readUsage(chunk.usage);
      if (reported === undefined) return;
      read.reported = reported;
      read.reportedAtBytes = read.producedBytes;
      isUsageFinal = isFinished;
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
  if (read.isComplete && read.failure === undefined) end();
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
