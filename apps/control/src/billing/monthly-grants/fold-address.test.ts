import { expect, it } from 'vitest';
import { foldAddress } from './fold-address.ts';

it.each([
  ['ann@example.com', 'ann@example.com'],
  ['Ann@EXAMPLE.com', 'ann@example.com'],
  ['ann@example.com.', 'ann@example.com'],
  ['ann+one@example.com', 'ann@example.com'],
  ['ann+one+two@example.com', 'ann@example.com'],
  ['ann@bücher.example', 'ann@xn--bcher-kva.example'],
  ['a.n.n+x@gmail.com', 'ann@gmail.com'],
  ['a.n.n@GoogleMail.com', 'ann@gmail.com'],
])('%s reaches the mailbox of %s', (email, folded) => {
  expect(foldAddress(email)).toBe(folded);
});

it.each([
  ['a.nn@example.com', 'ann@example.com'],
  ['ann-one@example.com', 'ann@example.com'],
  ['ann@one.example.com', 'ann@example.com'],
  ['+one@example.com', '+two@example.com'],
])('%s and %s may be different people', (one, other) => {
  expect(foldAddress(one)).not.toBe(foldAddress(other));
});
