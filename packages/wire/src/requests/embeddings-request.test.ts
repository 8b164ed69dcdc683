import { describe, expect, it } from 'vitest';
import { ServiceError } from '../errors.ts';
import { embeddingsRequestSchema } from './embeddings-request.ts';
import { parseRequest } from './parse-request.ts';

const parse = (input: unknown) => parseRequest(embeddingsRequestSchema, { model: 'acme/embed', input });

function refusal(input: unknown): { readonly param: string | undefined; readonly message: string } {
  try {
    parse(input);
  } catch (error) {
    if (error instanceof ServiceError && error.type === 'invalid_request') return error;
    throw error;
  }
  throw new Error('the input was accepted');
}

describe('the input of an embeddings request', () => {
  it('is a text, texts, a token array or token arrays, and stays as it is', () => {
    for (const input of ['é', ['a', 'b'], [0, 4_294_967_295], [[1, 2], [3]], Array(2048).fill('a')])
      expect(parse(input).input).toEqual(input);
    expect(parse(Array(1_000_000).fill(7)).input).toHaveLength(1_000_000);
  });

  it.each<[string, unknown, string, RegExp]>([
    ['nothing', undefined, 'input', /must be a text, up to 2048 texts, a token array/],
    ['null', null, 'input', /must be a text, up to 2048 texts/],
    ['an object', {}, 'input', /must be a text, up to 2048 texts/],
    ['an empty text', '', 'input', /must not be an empty text/],
    ['an empty list', [], 'input', /must not be empty/],
    ['too many texts', Array(2049).fill('a'), 'input', /at most 2048 inputs/],
    ['too many token arrays', Array(2049).fill([1]), 'input', /at most 2048 inputs/],
    ['an empty text among others', ['a', ''], 'input.1', /must not be an empty text/],
    ['a token among texts', ['a', 5], 'input.1', /must be a text, as the first/],
    ['a text among tokens', [5, 'a'], 'input.1', /must be a token: an integer/],
    ['half a token', [1, 1.5], 'input.1', /must be a token/],
    ['a negative token', [-1], 'input.0', /must be a token/],
    ['a token too large', [4_294_967_296], 'input.0', /must be a token/],
    ['an empty token array', [[1], []], 'input.1', /must not be an empty token array/],
    ['a text among token arrays', [[1], 'a'], 'input.1', /must be a token array/],
    ['half a token in a list', [[1], [2, 0.5]], 'input.1.1', /must be a token/],
    ['null in a list', [null], 'input.0', /must be a text, a token or a token array/],
    ['too many tokens', Array(1_000_001).fill(7), 'input', /at most 1000000 tokens/],
  ])('%s is refused with what would be right', (_, input, param, message) => {
    const error = refusal(input);
    expect(error.param).toBe(param);
    expect(error.message).toMatch(message);
  });

  it('never quotes what it was', () => {
    expect(refusal(['a', { CANARY: 1 }]).message).not.toContain('CANARY');
  });

  it('is judged in time and memory that its length explains, however wrong it is', () => {
    const input = Array(1_000_000).fill(1.5);
    const before = process.cpuUsage();
    expect(refusal(input).param).toBe('input.0');
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(500);
  });
});
