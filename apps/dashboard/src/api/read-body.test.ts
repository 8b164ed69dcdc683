import { expect, it } from 'vitest';
import { bodies } from './bodies.ts';
import { readBody } from './read-body.ts';

const keys = bodies['POST /v1/keys'] ?? {};
const shown = (values: Readonly<Record<string, unknown>>, start: Readonly<Record<string, unknown>> = {}) =>
  Object.entries(values).map(([name, value]) => ({ name, value, start: start[name] }));

it('reads amounts, counts and names as people type them', () => {
  const typed = { name: ' laptop ', credit_limit_usd: '$2.50', requests_per_minute: '1,000', tokens_per_minute: '' };
  expect(readBody(keys, shown(typed), { rest: { kind: 'inference' } })).toEqual({
    body: {
      kind: 'inference',
      name: 'laptop',
      credit_limit_usd: 2.5,
      requests_per_minute: 1000,
      tokens_per_minute: null,
    },
    mistakes: {},
  });
});

it('names each field whose text is not a value of it, or is out of its bounds', () => {
  const typed = { credit_limit_usd: 'ten', requests_per_minute: '0', tokens_per_minute: '1.5' };
  const { mistakes } = readBody(keys, shown(typed), {});
  expect(mistakes).toEqual({
    credit_limit_usd: 'An amount in $, such as 5 or 12.50. At most 1,000,000.',
    requests_per_minute: 'Enter a whole number above 0, at most 2,147,483,647.',
    tokens_per_minute: 'Enter a whole number above 0, at most 2,147,483,647.',
  });
  const credit = bodies['POST /v1/operator/accounts/{id}/credit'] ?? {};
  for (const amount of ['0', '-1', '', '1000000.01', '1e3', '5,00', 'NaN', '5 $'])
    expect(readBody(credit, shown({ amount_usd: amount }), {}).mistakes, amount).toHaveProperty('amount_usd');
});

it('takes the sentence and the rule of the form before those of the contract', () => {
  const [limit] = shown({ credit_limit_usd: '0' });
  const field = { name: '', start: 0, value: 0, ...limit, mistake: 'Above 0.', accepts: (usd: number) => usd !== 0 };
  expect(readBody(keys, [field], {})).toEqual({ body: {}, mistakes: { credit_limit_usd: 'Above 0.' } });
});

it('reads a list with an entry a line, whatever the spaces', () => {
  const typed = shown({ redirect_uris: ' https://a.example/x \r\n\n https://b.example/y\n' });
  expect(readBody(bodies['POST /v1/connect/apps'] ?? {}, typed, {}).body).toEqual({
    redirect_uris: ['https://a.example/x', 'https://b.example/y'],
  });
});

it('sends of an object that exists what was changed, and what its route requires', () => {
  const start = { name: 'laptop', credit_limit_usd: 5, allowed_models: ['a'], openai_compatible: true };
  const patch = bodies['PATCH /v1/keys/{id}'] ?? {};
  const read = (change: object) => readBody(patch, shown({ ...start, ...change }, start), { onlyChanged: true }).body;
  expect(read({})).toEqual({});
  expect(read({ credit_limit_usd: '5.00', allowed_models: ['a'] })).toEqual({});
  expect(read({ credit_limit_usd: '', openai_compatible: false })).toEqual({
    credit_limit_usd: null,
    openai_compatible: false,
  });
  const name = shown({ name: 'Research' }, { name: 'Research' });
  expect(readBody(bodies['PATCH /v1/workspaces/{id}'] ?? {}, name, { onlyChanged: true }).body).toEqual({
    name: 'Research',
  });
});

it('puts a field with two names into the object that the first one names', () => {
  const typed = shown({ 'auto_top_up.threshold_usd': '5', 'auto_top_up.package_id': 'p' });
  const settings = bodies['PUT /v1/billing/settings'] ?? {};
  expect(readBody(settings, typed, { rest: { 'auto_top_up.enabled': true } }).body).toEqual({
    auto_top_up: { enabled: true, threshold_usd: 5, package_id: 'p' },
  });
});

it('leaves blanks in passwords, and leaves out an empty text that may be absent', () => {
  const change = bodies['POST /v1/auth/change-password'] ?? {};
  expect(readBody(change, shown({ currentPassword: ' a ' }), {}).body).toEqual({ currentPassword: ' a ' });
  const social = bodies['POST /v1/auth/sign-in/social'] ?? {};
  expect(readBody(social, shown({ callbackURL: '' }), {}).body).toEqual({});
});

it('takes no missing value for a field without one, where that is a choice or required', () => {
  const untouched = { limit_usd: undefined, key_id: undefined };
  const budgets = bodies['PUT /v1/workspaces/{id}/budgets'] ?? {};
  const asked = shown(untouched).map((field) => ({ ...field, isChoice: field.name === 'key_id' }));
  // Without `key_id`, the service would set the budget of the whole workspace.
  expect(readBody(budgets, asked, {})).toEqual({
    body: {},
    mistakes: {
      limit_usd: 'An amount in $, such as 5 or 12.50. At most 1,000,000.',
      key_id: 'Choose one.',
    },
  });
});

it('takes no blanks where the form requires a text, even if a null would leave the field as it is', () => {
  const patch = bodies['PATCH /v1/keys/{id}'] ?? {};
  const [name] = shown({ name: '  ' }, { name: 'laptop' });
  const field = { name: '', start: '', value: '', ...name, required: true };
  expect(readBody(patch, [field], { onlyChanged: true })).toEqual({
    body: {},
    mistakes: { name: 'Fill in this field.' },
  });
});

it('reads commas in counts only between groups of three digits, and names the highest count', () => {
  const fields = { count: { type: 'integer', above: 0, max: 2_000_000 } } as const;
  const read = (count: string) => readBody(fields, shown({ count }), {});
  expect(read('1,234,567').body).toEqual({ count: 1_234_567 });
  for (const count of ['1,5', '1,,000', ',100', '1000,000', '3,000,000'])
    expect(read(count).mistakes, count).toEqual({ count: 'Enter a whole number above 0, at most 2,000,000.' });
});
