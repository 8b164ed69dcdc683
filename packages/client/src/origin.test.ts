import { expect, it } from 'vitest';
import { readOrigin, requireApart } from './origin.ts';

const apart = (control: string, confidential: string): void =>
  requireApart(readOrigin('controlOrigin', control), readOrigin('baseOrigin', confidential));

it.each([
  ['https://a.test', 'https://a.test'],
  ['https://A.test:443/v1', 'https://a.test'],
  ['http://localhost:4000', 'http://127.0.0.1:4000/v1'],
  ['http://[::1]:4000', 'http://localhost:4000'],
  ['http://localhost', 'http://127.0.0.1'],
])('%s and %s are the same place, which must not get both the key and the content', (control, confidential) => {
  expect(() => apart(control, confidential)).toThrow(
    expect.objectContaining({ code: 'origin_invalid', param: 'controlOrigin' }),
  );
});

it.each([
  ['https://a.test', 'https://b.test'],
  ['https://a.test', 'https://a.test:4001'],
  ['http://localhost:4000', 'http://localhost:4001'],
  ['http://127.0.0.1:4000', 'http://127.0.0.2:4000'],
  ['https://localhost', 'https://a.test'],
])('%s and %s are apart', (control, confidential) => {
  expect(() => apart(control, confidential)).not.toThrow();
});

it.each(['https://a.test.', 'https://a.test.:4001/v1', 'http://localhost.:4000'])(
  '%s is refused: with the dot, the same host would pass for another origin',
  (address) => {
    expect(() => readOrigin('controlOrigin', address)).toThrow(
      expect.objectContaining({ code: 'origin_invalid', param: 'controlOrigin' }),
    );
  },
);

it('explains that the dot must go', () => {
  expect(() => readOrigin('baseOrigin', 'https://a.test.')).toThrow(
    'Remove the dot at the end of the host; got a.test..',
  );
});
