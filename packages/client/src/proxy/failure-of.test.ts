import { UnwritableAnswer } from '@sotto/dialects';
import { describe, expect, it } from 'vitest';
import { ClientError, type ClientErrorCode, clientErrors } from '../errors.ts';
import { failureOf } from './serve-translation.ts';

describe('a failure, as a dialect reads it,', () => {
  it.each(Object.keys(clientErrors) as ClientErrorCode[])('of the client itself is told apart: %s', async (code) => {
    const failure = await failureOf(new ClientError(code));
    expect(failure).toMatchObject({ code, message: clientErrors[code] });
    // Only a failure that left nothing of the content behind may be repeated by a program.
    const isUnsent = /attestation_unavailable|unreachable|ticket_failed/.test(code);
    expect(failure.mayRetry).toBe(isUnsent);
    if (!isUnsent) expect([400, 424]).toContain(failure.status);
  });

  it('of an answer that the dialect cannot write is final: the answer may have been charged', async () => {
    const failure = await failureOf(new UnwritableAnswer('The model called `f`.'));
    const message = `${clientErrors.answer_lost} The model called \`f\`.`;
    expect(failure).toMatchObject({ status: 424, code: 'answer_lost', message, mayRetry: false });
  });

  it('is no error of another kind: that is a fault of ours', async () => {
    const fault = new Error('a bug');
    await expect(failureOf(fault)).rejects.toBe(fault);
  });
});
