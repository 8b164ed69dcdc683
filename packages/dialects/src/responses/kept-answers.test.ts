import { describe, expect, it } from 'vitest';
import { answer, frames, models, payloads } from '../testing/answers.ts';
import { eventsIn, runStream } from '../testing/run-stream.ts';
import { KeptAnswers } from './kept-answers.ts';
import { prepareResponse, translateResponses } from './translate.ts';

const user = (content: string) => ({ role: 'user', content });
const ask = (kept: KeptAnswers, more: object, keepsAll = false) =>
  translateResponses({ model: 'acme/small', ...more }, models, { isCodex: false, kept, keepsAll });
/** Asks, answers with this text, and returns the id of the response. */
function answered(kept: KeptAnswers, more: object, keepsAll = false): string {
  const { id } = ask(kept, more, keepsAll).whole(answer({ content: 'Hi.' })) as { id: string };
  return id;
}
const first = { input: 'Hello' };

describe('an answer that a request continues', () => {
  it('comes before its input, with all that came before it', () => {
    const kept = new KeptAnswers();
    const id = answered(kept, first);
    const { body } = ask(kept, { previous_response_id: id, input: [user('And?')], instructions: 'Be brief.' });
    expect(body.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      user('Hello'),
      { role: 'assistant', content: 'Hi.' },
      user('And?'),
    ]);
    // The same answer may be continued twice.
    expect(ask(kept, { previous_response_id: id, input: 'Or?' }).body.messages).toHaveLength(3);
  });

  it('is kept of a stream, too, and named by the answer to the request that continues it', () => {
    const kept = new KeptAnswers();
    const stream = ask(kept, { ...first, stream: true }).stream();
    const events = eventsIn(runStream(stream, [Buffer.from(frames(payloads([{ content: 'Hi.' }])))]));
    const { id } = (events.at(-1) as unknown as { response: { id: string } }).response;
    const next = ask(kept, { previous_response_id: id, input: 'And?' });
    expect(next.body.messages).toHaveLength(3);
    expect(next.whole(answer({ content: 'So.' }))).toMatchObject({ previous_response_id: id });
  });

  it('is not kept with `store: false`, except on a socket', () => {
    const kept = new KeptAnswers();
    const id = answered(kept, { ...first, store: false });
    expect(() => ask(kept, { previous_response_id: id, input: 'And?' })).toThrow(
      expect.objectContaining({ param: 'previous_response_id', message: expect.stringContaining('in `input`') }),
    );
    answered(kept, { ...first, store: false }, true);
    expect(ask(kept, { previous_response_id: id, input: 'And?' }).body.messages).toHaveLength(3);
  });

  it('may be a request that only prepared the conversation', () => {
    const kept = new KeptAnswers();
    const text = prepareResponse({ model: 'acme/small', input: [user('Rules.')], generate: false }, models, kept, 'p1');
    expect(eventsIn(text)).toMatchObject([
      { type: 'response.created', response: { id: 'resp_p1', status: 'in_progress' } },
      { type: 'response.completed', response: { id: 'resp_p1', status: 'completed', output: [] } },
    ]);
    expect(ask(kept, { previous_response_id: 'resp_p1', input: 'Hello' }).body.messages).toEqual([
      user('Rules.'),
      user('Hello'),
    ]);
  });
});

describe('the memory of answers', () => {
  const items = (chars: number) => [{ text: 'x'.repeat(chars) }];
  const found = (kept: KeptAnswers, ids: readonly string[]) => ids.filter((id) => kept.find(id) !== undefined);

  it('forgets the answer that was used least recently', () => {
    const kept = new KeptAnswers({ answers: 2, chars: 1000 });
    kept.keep('resp_a', items(1));
    kept.keep('resp_b', items(1));
    kept.find('resp_a');
    kept.keep('resp_c', items(1));
    expect(found(kept, ['resp_a', 'resp_b', 'resp_c'])).toEqual(['resp_a', 'resp_c']);
  });

  it('holds no more characters than its limit, and counts an answer once', () => {
    const kept = new KeptAnswers({ answers: 100, chars: 1000 });
    for (let each = 0; each < 9; each += 1) kept.keep('resp_a', items(300));
    kept.keep('resp_b', items(300));
    expect(found(kept, ['resp_a', 'resp_b'])).toEqual(['resp_a', 'resp_b']);
    kept.keep('resp_c', items(500));
    expect(found(kept, ['resp_a', 'resp_b', 'resp_c'])).toEqual(['resp_b', 'resp_c']);
    kept.keep('resp_huge', items(2000));
    expect(found(kept, ['resp_b', 'resp_c', 'resp_huge'])).toEqual([]);
  });
});
