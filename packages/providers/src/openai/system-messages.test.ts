import { describe, expect, it } from 'vitest';
import { chat } from '../testing/fixtures.ts';
import { withSystemMessages } from './system-messages.ts';

const hi = { role: 'user', content: 'hi' };
const system = (content: unknown, name?: string) => ({
  role: 'system',
  content,
  ...(name === undefined ? {} : { name }),
});
const developer = (content: string) => ({ role: 'developer', content });
const read = (messages: readonly object[], place?: 'first') => withSystemMessages(chat({ messages }).messages, place);

describe('system messages', () => {
  it('are one message at the start, where the client has several in a row', () => {
    expect(read([system('a'), developer('b'), hi])).toEqual([system('a\n\nb'), hi]);
    expect(read([developer('a')])).toEqual([system('a')]);
    expect(read([hi])).toEqual([hi]);
  });

  it('keep their parts', () => {
    const parts = [{ type: 'text', text: 'a' }];
    expect(read([system(parts), system('b'), hi])).toEqual([system([...parts, { type: 'text', text: '\n\nb' }]), hi]);
  });

  it('stay at their place later, and beside a name', () => {
    expect(read([system('a'), hi, developer('b'), hi])).toEqual([system('a'), hi, system('b'), hi]);
    const example = [system('a'), system('b', 'example_user'), system('c')];
    expect(read([...example, hi])).toEqual([...example, hi]);
  });

  it('are one message at the start, wherever they stood, for a provider that accepts no other', () => {
    expect(read([system('a'), hi, developer('b'), hi], 'first')).toEqual([system('a\n\nb'), hi, hi]);
    expect(read([hi, system('b', 'example_user')], 'first')).toEqual([system('b'), hi]);
  });
});
