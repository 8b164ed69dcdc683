import { describe, expect, it } from 'vitest';
import { deltasOf, failedChunk, payloads, type SaidMessage } from '../testing/answers.ts';
import { eventsIn } from '../testing/run-stream.ts';
import { ToolNames } from '../tool-names.ts';
import { ResponseStream } from './write-stream.ts';

const names = new ToolNames();
names.add({ kind: 'custom', name: 'apply_patch', namespace: undefined });
names.add({ kind: 'local_shell', name: 'local_shell', namespace: undefined });

const stream = (isCodex = false): ResponseStream =>
  new ResponseStream({ asked: {}, names, requested: 'asked/model', isCodex, onWhole: () => undefined });
const write = (events: readonly object[], writer = stream()) =>
  eventsIn(events.map((event) => writer.chunk(event)).join('') + writer.end());
const said = (message: SaidMessage, finish?: string, writer?: ResponseStream) =>
  write(payloads(deltasOf(message), finish), writer);
const kinds = (events: ReturnType<typeof write>): string[] => events.map(({ type }) => type.replace(/^response\./, ''));

const [first = {}] = payloads([{ content: 'Hi' }]);

describe('a streamed response', () => {
  it('has its events in the order of the Responses API, numbered from 0', () => {
    const call = { id: 'a', function: { name: 'exec', arguments: '{}' } };
    const events = said({ content: 'Hi.', reasoning: 'hm', tool_calls: [call] }, 'tool_calls');
    expect(kinds(events)).toEqual([
      ...['created', 'in_progress'],
      ...['output_item.added', 'reasoning_summary_part.added', 'reasoning_summary_text.delta'],
      ...['reasoning_summary_text.done', 'reasoning_summary_part.done', 'output_item.done'],
      ...['output_item.added', 'content_part.added', 'output_text.delta'],
      ...['output_text.done', 'content_part.done', 'output_item.done'],
      ...['output_item.added', 'function_call_arguments.delta', 'function_call_arguments.done', 'output_item.done'],
      'completed',
    ]);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    const places = events
      .filter(({ type }) => type === 'response.output_item.done')
      .map(({ output_index }) => output_index);
    expect(places).toEqual([0, 1, 2]);
    const { output } = (events.at(-1) as unknown as { response: { output: object[] } }).response;
    expect(output).toEqual(events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item));
    const ids = new Set(events.flatMap(({ item_id }) => item_id ?? []));
    expect([...ids]).toEqual(output.map((item) => (item as { id: string }).id));
  });

  it('streams the input of a custom tool as text', () => {
    const call = { id: 'a', function: { name: 'apply_patch', arguments: JSON.stringify({ input: 'a\n"b"' }) } };
    const events = said({ content: null, tool_calls: [call] }, 'tool_calls');
    const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta');
    expect(deltas.map(({ delta }) => delta).join('')).toBe('a\n"b"');
    expect(deltas.length).toBeGreaterThan(1);
    expect(events.find(({ type }) => type === 'response.custom_tool_call_input.done')).toMatchObject({
      input: 'a\n"b"',
    });
    expect(events.find(({ type }) => type === 'response.output_item.added')).toMatchObject({
      item: { type: 'custom_tool_call', name: 'apply_patch', input: '', status: 'in_progress' },
    });
  });

  it('marks a call that was cut off as incomplete, and leaves it out where it would run', () => {
    const ended = (name: string, text: string, isCodex = false) => {
      const message = { content: 'x', tool_calls: [{ id: 'a', function: { name, arguments: text } }] };
      const events = said(message, 'length', stream(isCodex));
      const { output } = (events.at(-1) as unknown as { response: { output: object[] } }).response;
      const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
      expect(output).toEqual(done);
      return output[1];
    };
    expect(ended('exec', '{"a":')).toMatchObject({ status: 'incomplete', arguments: '{"a":' });
    expect(ended('exec', '')).toMatchObject({ status: 'incomplete', arguments: '' });
    expect(ended('apply_patch', '{"input":"*** x')).toMatchObject({ status: 'incomplete', input: '*** x' });
    expect(ended('local_shell', '{"command":["rm"')).toBeUndefined();
    expect(ended('exec', '{"a":', true)).toBeUndefined();
    expect(ended('apply_patch', '{"input":"*** x', true)).toBeUndefined();
    expect(ended('exec', '{}', true)).toMatchObject({ status: 'completed' });
  });

  it('streams a refusal as one', () => {
    const events = write(payloads([{ refusal: 'No' }, { refusal: '.' }]));
    expect(kinds(events)).toEqual([
      ...['created', 'in_progress', 'output_item.added', 'content_part.added', 'refusal.delta', 'refusal.delta'],
      ...['refusal.done', 'content_part.done', 'output_item.done', 'completed'],
    ]);
  });

  it('that is incomplete says so; Codex would run the turn again then', () => {
    const [whole] = [said({ content: 'x' }, 'length').at(-1)];
    expect(whole).toMatchObject({ type: 'response.incomplete', response: { status: 'incomplete' } });
    expect(said({ content: 'x' }, 'length', stream(true)).at(-1)).toMatchObject({
      type: 'response.completed',
      response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    });
  });

  it('reports a failure in its last event, after an `error` at which OpenAI’s SDKs throw', () => {
    const writer = stream();
    const events = write([first, failedChunk, first], writer);
    expect(kinds(events).slice(-2)).toEqual(['error', 'failed']);
    expect(events.at(-2)).toMatchObject({ code: 'provider_error', error: { message: 'It failed.' } });
    expect(events.at(-1)).toMatchObject({
      response: { status: 'failed', error: { code: 'server_error', message: 'It failed.' } },
    });
    expect(writer.isWhole).toBe(false);
  });

  it('that fails for Codex has a code after which Codex does not run the turn again', () => {
    const events = write([first, failedChunk], stream(true));
    expect(kinds(events)).not.toContain('error');
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { error: { code: 'invalid_prompt', message: 'provider_error: It failed.' } },
    });
  });

  it('that breaks off does not look whole', () => {
    const writer = stream();
    const events = write([first], writer);
    expect(events.at(-2)).toMatchObject({ type: 'error', code: 'answer_lost' });
    expect(events.at(-1)).toMatchObject({ response: { status: 'failed' } });
    expect(writer.isWhole).toBe(false);
  });

  it('keeps the connection alive with a comment', () => {
    expect(stream().keepAlive()).toMatch(/^: .*\n\n$/);
  });
});
