import { errorAnswerSchema } from '@sotto/wire';
import { expect } from 'vitest';
import type { Answer } from './answer.ts';

/**
 * Asserts that an answer is this error, in an error envelope with exactly its documented fields
 * (docs/reference/errors.md).
 */
export function expectError(answer: Answer, status: number, type: string, param?: string): void {
  expect({ status: answer.status, error: answer.json }).toMatchObject({
    status,
    error: { error: { type, ...(param === undefined ? {} : { param }) } },
  });
  expectEnvelope(answer);
}

/** Asserts that an answer is a 4xx in the error envelope. */
export function expectCallersFault(answer: Answer): void {
  expect(answer.status, answer.text.slice(0, 500)).toBeGreaterThanOrEqual(400);
  expect(answer.status, answer.text.slice(0, 500)).toBeLessThan(500);
  expectEnvelope(answer);
}

function expectEnvelope({ headers, json }: Answer): void {
  expect(headers.get('content-type')).toMatch(/^application\/json/);
  errorAnswerSchema.parse(json);
}
