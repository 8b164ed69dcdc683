import { expect, it } from 'vitest';
import { isOwnSecret } from './own-secret.ts';

it.each(['sotto_inf_x', 'sotto_mgt_x', 'sotto_tkt_x', 'sotto_local_x', ' sotto_inf_x', '"sotto_inf_x"'])(
  'recognises Sotto’s own secret in %j',
  (text) => {
    expect(isOwnSecret(text)).toBe(true);
  },
);

it.each(['', 'sk-x', 'sottovoce', 'sk-sotto_inf_x', 'Sotto_inf_x'])('takes %j for a key of another service', (text) => {
  expect(isOwnSecret(text)).toBe(false);
});
