import { describe, expect, it } from 'vitest';
import { brokenOff } from '../chat-failure.ts';
import { deltasOf, failedChunk, payloads, usage } from '../testing/answers.ts';
import { eventsIn } from '../testing/run-stream.ts';
import { ToolNames } from '../tool-names.ts';
import { messageUsage } from './write-message.ts';
import { MessageStream } from './write-stream.ts';

const call = { id: 'a', function: { name: 'bash', arguments: '{"x":1}' } };
const signed = { type: 'reasoning.text' as const, text: 'hm', signature: 's', format: 'anthropic-claude-v1', index: 0 };
const message = { content: 'Hi.', reasoning: 'hm', reasoning_details: [signed], tool_calls: [call] };

const write = (events: readonly object[], writer = new MessageStream('asked/model', new ToolNames())): string =>
  events.map((event) => writer.chunk(event)).join('') + writer.end();

const [first = {}] = payloads([{ content: 'Hi' }]);

describe('a streamed message', () => {
  it('has its events in the order of the Messages API', () => {
    const events = eventsIn(write(payloads(deltasOf(message), 'tool_calls')));
    expect(events.map(({ type, index }) => (index === undefined ? type : `${type} ${index}`))).toEqual([
      'message_start',
      ...['content_block_start 0', 'content_block_delta 0', 'content_block_delta 0', 'content_block_stop 0'],
      ...['content_block_start 1', 'content_block_delta 1', 'content_block_stop 1'],
      'content_block_start 2',
      ...['content_block_delta 2', 'content_block_delta 2', 'content_block_delta 2', 'content_block_stop 2'],
      'message_delta',
      'message_stop',
    ]);
    expect(events.at(-2)).toEqual({
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: messageUsage(usage),
    });
    expect(events[1]).toMatchObject({ content_block: { type: 'thinking', thinking: '', signature: '' } });
    expect(events[3]).toMatchObject({
      delta: { type: 'signature_delta', signature: expect.stringMatching(/^sotto\.1\./) },
    });
    expect(events[8]).toMatchObject({ content_block: { type: 'tool_use', id: 'a', name: 'bash', input: {} } });
  });

  it('has an id of its own if it begins before the answer has one: programs join messages with equal ids', () => {
    const ids = [1, 2].map(() => {
      const writer = new MessageStream('asked/model', new ToolNames());
      return /"id":"(msg_\w+)"/.exec(writer.keepAlive() + writer.chunk(first) + writer.end())?.[1];
    });
    expect(ids).toEqual([expect.stringMatching(/^msg_[0-9a-f]{32}$/), expect.not.stringMatching(`^${ids[0]}$`)]);
  });

  it('ends a call as soon as the answer does, before its usage arrives', () => {
    const writer = new MessageStream('asked/model', new ToolNames());
    const [, opening = {}] = payloads(deltasOf({ content: null, tool_calls: [call] }));
    const [finish = {}] = payloads([], 'tool_calls');
    writer.chunk(opening);
    expect(writer.chunk(finish)).toContain('content_block_stop');
  });

  it('writes a thought that only its provider can read as a whole block', () => {
    const sealed = { type: 'reasoning.encrypted' as const, data: 'opaque' };
    const events = eventsIn(write(payloads([{ reasoning_details: [sealed] }, { content: 'x' }])));
    expect(events[1]).toMatchObject({ type: 'content_block_start', content_block: { type: 'redacted_thinking' } });
    expect(events[2]).toMatchObject({ type: 'content_block_stop', index: 0 });
  });

  it('keeps the connection alive, even before the first chunk', () => {
    const writer = new MessageStream('asked/model', new ToolNames());
    const events = eventsIn(writer.keepAlive() + writer.keepAlive());
    expect(events.map(({ type }) => type)).toEqual(['message_start', 'ping', 'ping']);
    expect(events[0]).toMatchObject({ message: { model: 'asked/model' } });
  });

  it('reports a failure in its last event', () => {
    const writer = new MessageStream('asked/model', new ToolNames());
    const events = eventsIn(write([first, failedChunk, first], writer));
    expect(events.at(-1)).toEqual({
      type: 'error',
      error: { type: 'api_error', message: 'It failed.', code: 'provider_error' },
      request_id: 'r',
    });
    expect(events.filter(({ type }) => type === 'message_stop')).toEqual([]);
    expect(writer.isWhole).toBe(false);
  });

  it('that breaks off does not look whole', () => {
    const writer = new MessageStream('asked/model', new ToolNames());
    expect(eventsIn(write([first], writer)).at(-1)).toMatchObject({ type: 'error', error: { code: 'answer_lost' } });
    expect(writer.isWhole).toBe(false);
    expect(writer.fail(brokenOff) + writer.keepAlive()).toBe('');
  });
});
