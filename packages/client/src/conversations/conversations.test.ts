import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { Conversations, maxConversations, rememberedMs } from './conversations.ts';
import { turnsOf } from './turns.ts';

/** Turns of a user and an assistant in turn, from these texts. */
const turns = (...texts: readonly string[]) =>
  turnsOf({ messages: texts.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content })) });

const acme = { provider: 'acme', privacyClass: 'private' as const };

describe('a conversation', () => {
  let now = 0;
  let secrets = 0;
  let conversations: Conversations;
  beforeEach(() => {
    now = 0;
    secrets = 0;
    const newSecret = (): string => String(++secrets);
    conversations = new Conversations({ now: () => now, newSecret });
  });
  const recognise = (...texts: readonly string[]) => conversations.recognise(turns(...texts));

  it('goes on while each request repeats it and adds to it', () => {
    const first = recognise('a');
    first.served = acme;
    expect(recognise('a')).toBe(first);
    expect(recognise('a', 'b', 'c')).toBe(first);
    expect(recognise('a', 'b', 'c', 'd', 'e')).toBe(first);
    expect(secrets).toBe(1);
  });

  it('is another one with another beginning', () => {
    recognise('a').served = acme;
    expect(recognise('b')).toEqual({ served: undefined, cacheSecret: '2' });
    // The first turn alone says little: the same question can have another answer.
    recognise('a', 'b', 'c').served = acme;
    expect(recognise('a', 'x', 'c').served).toBeUndefined();
  });

  it('branches where a user goes back: the branch begins with the provider that has the common part', () => {
    const first = recognise('a', 'b', 'c', 'd', 'e');
    first.served = acme;
    const branch = recognise('a', 'b', 'x');
    expect(branch).toEqual(first);
    branch.served = { ...acme, provider: 'birch' };
    expect(recognise('a', 'b', 'c', 'd', 'e', 'f', 'g')).toBe(first);
    expect(recognise('a', 'b', 'x', 'y', 'z')).toBe(branch);
    expect(first.served).toEqual(acme);
  });

  it('is new if it could continue several', () => {
    recognise('a', 'b', 'c').served = acme;
    recognise('a', 'b', 'x').served = acme;
    const other = recognise('a', 'b', 'y');
    expect(other).toEqual({ served: undefined, cacheSecret: '2' });
    // From then on it is one of its own.
    expect(recognise('a', 'b', 'y', 'd', 'e')).toBe(other);
  });

  it('is forgotten after an hour without a request', () => {
    recognise('a').served = acme;
    now = rememberedMs - 1;
    expect(recognise('a', 'b', 'c').served).toEqual(acme);
    now += rememberedMs;
    expect(recognise('a', 'b', 'c').served).toBeUndefined();
  });

  it('is forgotten if too many others came since', () => {
    recognise('a').served = acme;
    for (let other = 0; other < maxConversations - 1; other += 1) recognise(`other ${other}`);
    expect(recognise('a').served).toEqual(acme);
    for (let other = 0; other < maxConversations; other += 1) recognise(`another ${other}`);
    expect(recognise('a').served).toBeUndefined();
  });

  it('without a turn is never recognised', () => {
    recognise().served = acme;
    expect(recognise().served).toBeUndefined();
  });

  it('is never taken for another one that shares no turn with it, however they are mixed', () => {
    const talk = fc.record({ id: fc.integer({ min: 0, max: 3 }), length: fc.integer({ min: 0, max: 4 }) });
    fc.assert(
      fc.property(fc.array(talk, { maxLength: 40 }), (requests) => {
        const owners = new Map<string, number>();
        for (const { id, length } of requests) {
          const texts = Array.from({ length: 2 * length + 1 }, (_, at) => `${id} says ${at}`);
          const { cacheSecret } = recognise(...texts);
          expect(owners.get(cacheSecret) ?? id).toBe(id);
          owners.set(cacheSecret, id);
        }
      }),
    );
  });
});
