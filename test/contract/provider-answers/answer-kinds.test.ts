import { describe, expect, it } from 'vitest';
import { adapters, type Content, streamedChat, streamedIn, wholeChat, wholeIn } from '../dialects/pipeline.ts';
import { type AnswerKind, answerKinds } from './answer-kinds.ts';
import type { Frames } from './apis.ts';

const kinds = Object.entries<AnswerKind>(answerKinds);
const dialects = ['chat', 'messages', 'responses'] as const;
type Api = keyof typeof adapters;
const apis = Object.keys(adapters) as Api[];

/** The cells of one mode that hold an answer. */
const cells = (mode: 'whole' | 'streamed') =>
  kinds.flatMap(([kind, { gives, cells: byApi }]) =>
    apis.flatMap((api) => {
      const cell = byApi[api][mode];
      return typeof cell === 'object' && 'cannot' in cell ? [] : [{ kind, gives, api, cell }];
    }),
  );

const isFrames = (cell: Frames | readonly Frames[]): cell is Frames => Buffer.isBuffer(cell[0]);

/** What a dialect tells of an answer. The Responses API names no finish reason beside calls. */
function compared(content: Content, gives: Partial<Content>, dialect: (typeof dialects)[number]): void {
  const { finish, ...expected } = gives;
  const { calls = [] } = expected;
  const ids = new Set(content.calls.map(({ id }) => id));
  expect(ids.size).toBe(content.calls.length);
  const read = {
    ...content,
    calls: content.calls.map((call, at) => ({ ...call, id: calls[at]?.id === 'another' ? 'another' : call.id })),
  };
  expect(read).toMatchObject(dialect === 'responses' ? expected : gives);
}

it('the table names the reason for every cell without an answer', () => {
  for (const [, { cells: byApi }] of kinds) {
    expect(Object.keys(byApi)).toEqual(apis);
    for (const modes of Object.values(byApi)) {
      for (const cell of Object.values(modes))
        if ('cannot' in Object(cell)) expect(cell).toEqual({ cannot: expect.stringMatching(/\w{3}/) });
    }
  }
});

describe.each(cells('whole'))('$kind, of $api, whole', ({ gives, api, cell }) => {
  const body = cell as string;
  if (typeof gives === 'string') {
    it(`is the outcome ${gives}`, () => {
      expect(() => wholeChat(api, body)).toThrow(gives);
    });
    return;
  }
  it.each(dialects)('is right in the dialect %s', (dialect) => {
    compared(wholeIn[dialect](wholeChat(api, body)), gives, dialect);
  });
});

describe.each(cells('streamed'))('$kind, of $api, streamed', ({ gives, api, cell }) => {
  const streams = isFrames(cell as Frames) ? [cell as Frames] : (cell as readonly Frames[]);
  if (typeof gives === 'string') {
    it(`is the outcome ${gives}`, () => {
      for (const frames of streams) expect(() => streamedChat(api, frames)).toThrow(gives);
    });
    return;
  }
  it.each(dialects)('is right in the dialect %s', (dialect) => {
    for (const frames of streams) compared(streamedIn[dialect]([streamedChat(api, frames)]), gives, dialect);
  });
  it('has its id, type and name once', () => {
    for (const frames of streams) {
      const text = Buffer.from(streamedChat(api, frames)).toString('utf8');
      for (const { name } of gives.calls ?? []) expect(text.split(`"name":"${name}"`)).toHaveLength(2);
    }
  });
});
