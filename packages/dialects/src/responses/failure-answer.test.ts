import { describe, expect, it } from 'vitest';
import { brokenOff, type ChatFailure } from '../chat-failure.ts';
import { models } from '../testing/answers.ts';
import { eventsIn } from '../testing/run-stream.ts';
import { responsesFailure } from './failure-answer.ts';
import { KeptAnswers } from './kept-answers.ts';
import { translateResponses } from './translate.ts';

const failure = (more: Partial<ChatFailure>): ChatFailure => ({ ...brokenOff, requestId: 'req_1', ...more });
const overflow = { promptTokens: 10, limit: 5 };
const ask = (more: Partial<ChatFailure>, { isCodex = false, stream = true } = {}) => {
  const translation = translateResponses({ model: 'acme/small', input: 'hi', stream }, models, {
    ...{ isCodex, kept: new KeptAnswers() },
  });
  return responsesFailure(failure(more), { isCodex, translation });
};
/** The error in the stream that Codex gets, or the status of an answer without one. */
const forCodex = (more: Partial<ChatFailure>): unknown => {
  const { status, body } = ask(more, { isCodex: true });
  return status === 200 ? (eventsIn(body).at(-1) as unknown as { response: { error: object } }).response.error : status;
};

describe('an error of the Responses API', () => {
  it('has OpenAI’s shape', () => {
    const { status, headers, body } = ask({ status: 400, code: 'invalid_request', message: 'No.', param: 'input.0' });
    expect(status).toBe(400);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-request-id': 'req_1',
      'x-should-retry': 'false',
    });
    expect(JSON.parse(body)).toEqual({
      error: {
        type: 'invalid_request',
        code: 'invalid_request',
        message: 'No.',
        param: 'input.0',
        request_id: 'req_1',
      },
    });
  });

  it.each([
    [{ status: 400, code: 'context_too_large', overflow }, 'context_length_exceeded'],
    [{ status: 400, code: 'context_too_large', overflow: undefined }, 'context_too_large'],
    [{ status: 402, code: 'insufficient_balance' }, 'insufficient_quota'],
    [{ status: 429, code: 'rate_limited' }, 'rate_limit_exceeded'],
    [{ status: 424, code: 'answer_lost' }, 'answer_lost'],
  ])('has the code that clients look for: %j', (more, code) => {
    expect(JSON.parse(ask(more).body)).toMatchObject({ error: { code } });
  });
});

describe('an error for Codex', () => {
  it.each([
    [
      { status: 400, code: 'context_too_large', message: 'Long.', overflow },
      { code: 'context_length_exceeded', message: 'Long.' },
    ],
    [
      { status: 402, code: 'insufficient_balance', message: 'Empty.' },
      { code: 'insufficient_quota', message: 'Empty.' },
    ],
    [
      { status: 424, code: 'answer_lost', message: 'Lost.' },
      { code: 'invalid_prompt', message: 'answer_lost: Lost.' },
    ],
    [
      { status: 502, code: 'attestation_untrusted', message: 'No.' },
      { code: 'invalid_prompt', message: 'attestation_untrusted: No.' },
    ],
    [
      { status: 404, code: 'model_not_found', message: 'No.' },
      { code: 'invalid_prompt', message: 'model_not_found: No.' },
    ],
  ])('that it must not repeat is a stream that fails: %j', (more, error) => {
    expect(forCodex(more)).toEqual(error);
  });

  it('of a rate limit says when to come back, in the words that Codex reads', () => {
    const limited = { status: 429, code: 'rate_limited', message: 'Slow.', mayRetry: true };
    expect(forCodex({ ...limited, retryAfter: '7' })).toEqual({
      code: 'rate_limit_exceeded',
      message: 'Slow. Please try again in 7s.',
    });
    expect(forCodex(limited)).toMatchObject({ message: expect.stringMatching(/try again in\s*1s/) });
  });

  it('that may pass keeps its status, which Codex tries again', () => {
    expect(forCodex({ status: 503, code: 'control_unreachable', mayRetry: true })).toBe(503);
  });

  it('of a request that asked for a whole answer is a plain one', () => {
    expect(ask({ status: 402, code: 'insufficient_balance' }, { isCodex: true, stream: false }).status).toBe(402);
  });
});
