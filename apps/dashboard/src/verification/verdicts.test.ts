import { expect, it } from 'vitest';
import { meets, verdictOrder } from './verdicts.tsx';

it('meets a verdict by order, and never an unknown word', () => {
  expect(meets('hardware_verified', 'cryptographically_checked')).toBe(true);
  expect(meets('policy_matched', 'cryptographically_checked')).toBe(false);
  for (const verdict of verdictOrder) {
    expect(meets(verdict, 'hardware-verified' as never)).toBe(false);
    expect(meets('hardware-verified' as never, verdict)).toBe(false);
  }
});
