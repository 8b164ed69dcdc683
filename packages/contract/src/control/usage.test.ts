import { parseRequest } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { usageDailyQuerySchema, usageQuerySchema } from './usage.ts';

const refused = (param: string, message?: RegExp) =>
  expect.objectContaining({
    type: 'invalid_request',
    param,
    ...(message === undefined ? {} : { message: expect.stringMatching(message) }),
  });

describe.each([
  ['usage', usageQuerySchema],
  ['daily usage', usageDailyQuerySchema],
])('the query of %s', (_, schema) => {
  it.each([
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2026-11-21T08:00:00Z', '2026-11-21T08:00:00.000Z'],
    ['2026-11-21T08:00:00.250Z', '2026-11-21T08:00:00.250Z'],
    ['2026-11-21T08:00:00+05:30', '2026-11-21T02:30:00.000Z'],
  ])('takes %s', (text, instant) => {
    expect(parseRequest(schema, { from: text }).from?.toISOString()).toBe(instant);
  });

  it.each([
    'yesterday',
    '',
    '1763683200',
    '2026-11-21 08:00',
    '2026-11-21T08:00:00',
    '2026-11-21T08:00:00 05:30',
    '2026-02-30',
    '2025-02-29',
    '2026-13-01',
    '0000-01-01',
    '1969-12-31',
    '9999-12-31T23:59:59-14:00',
    '+010000-01-01',
    '2026-11-21\0',
  ])('says of %j what it takes instead', (text) => {
    expect(() => parseRequest(schema, { to: text })).toThrow(refused('to', /must be a date such as/));
  });

  it('refuses a repeated time', () => {
    expect(() => parseRequest(schema, { from: ['2026-01-01', '2026-01-02'] })).toThrow(refused('from'));
  });

  it('refuses a range that is empty or the wrong way round', () => {
    for (const to of ['2026-11-21', '2026-11-20', '2026-11-21T01:00:00+02:00']) {
      expect(() => parseRequest(schema, { from: '2026-11-21', to })).toThrow(refused('to', /later than `from`/));
    }
  });

  it('refuses an unknown format', () => {
    expect(() => parseRequest(schema, { format: 'xml' })).toThrow(refused('format', /`json` or `csv`/));
  });
});

describe('group_by', () => {
  it('is the day where it is absent', () => {
    expect(parseRequest(usageDailyQuerySchema, {}).group_by).toEqual(['day']);
  });

  it('is a set, in one order', () => {
    expect(parseRequest(usageDailyQuerySchema, { group_by: 'model,key_id,month,model' }).group_by).toEqual([
      'month',
      'key_id',
      'model',
    ]);
  });

  it.each(['', 'minute', 'day,', 'day;model', ' day', 'account_id', 'constructor', 'cost_nusd; drop table usage'])(
    'refuses %j',
    (text) => {
      expect(() => parseRequest(usageDailyQuerySchema, { group_by: text })).toThrow(refused('group_by', /comma list/));
    },
  );
});
