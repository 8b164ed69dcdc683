import type { AnswerReading } from '../adapter.ts';

/** Thrown by code that reads a part of an answer and finds that no client could use it, such as a call without a name. */
export class MalformedAnswer extends Error {}

/** Returns what `read` makes of a whole answer. A `MalformedAnswer` fails the attempt, so that another route can follow. */
export function readingOf<Answer>(read: () => AnswerReading<Answer>): AnswerReading<Answer> {
  try {
    return read();
  } catch (error) {
    if (error instanceof MalformedAnswer) return { ok: false, outcome: 'malformed_answer' };
    throw error;
  }
}
