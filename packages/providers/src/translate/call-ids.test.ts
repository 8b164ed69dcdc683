import type { Message } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { nineAlphanumerics, plainIds, shortIds, withCallIds } from './call-ids.ts';

const calls = (...ids: readonly string[]): Message => ({
  role: 'assistant',
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
});
const result = (tool_call_id: string): Message => ({ role: 'tool', tool_call_id, content: 'r' });
const idsOf = (messages: readonly Message[]): string[] =>
  messages.flatMap((message) =>
    message.role === 'assistant'
      ? (message.tool_calls ?? []).map(({ id }) => id)
      : message.role === 'tool'
        ? message.tool_call_id
        : [],
  );

describe('ids of tool calls', () => {
  it('stay, with the same list, if they fit and are unique', () => {
    const messages = [calls('a', 'functions.f:0'), result('a'), result('functions.f:0')];
    expect(withCallIds(messages, shortIds)).toBe(messages);
  });

  it('are the same in a later request, which has more messages', () => {
    const messages = [calls('call_abc'), result('call_abc'), calls('call_abc'), result('call_abc')];
    const early = idsOf(withCallIds(messages.slice(0, 2), nineAlphanumerics));
    expect(idsOf(withCallIds(messages, nineAlphanumerics)).slice(0, 2)).toEqual(early);
  });

  it('of calls that share one each belong to their own result, in order', () => {
    const [one, other, first, second, third, last] = idsOf(
      withCallIds([calls('a', 'a'), result('a'), result('a'), calls('a'), result('a')], plainIds),
    );
    expect([one, other, third]).toEqual([first, second, last]);
    expect(new Set([one, other, third]).size).toBe(3);
  });

  it('of a result without a call become valid ones', () => {
    expect(idsOf(withCallIds([result('no such call')], plainIds))).toEqual([expect.stringMatching(/^call_[\w-]{24}$/)]);
  });

  it('in details follow the call that they name', () => {
    const detail = { type: 'reasoning.encrypted' as const, data: 'x', id: 'a b' };
    const [message] = withCallIds([{ ...calls('a b'), reasoning_details: [detail] } as Message], plainIds);
    const { tool_calls, reasoning_details } = message as Extract<Message, { role: 'assistant' }>;
    expect(reasoning_details?.[0]?.id).toBe(tool_calls?.[0]?.id);
  });
});
