import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadAdapter } from '../load-adapter.ts';
import { columns, models } from '../testing/field-rows.ts';
import { chat, target } from '../testing/fixtures.ts';
import { messageFieldRows } from '../testing/message-field-rows.ts';
import { parameterFieldRows } from '../testing/parameter-field-rows.ts';

const rows = [...messageFieldRows, ...parameterFieldRows];

describe.each(columns)('each request field at %s', (column) => {
  it.each(rows.map((row) => ({ name: row.field, row })))('$name', async ({ row }) => {
    const adapter = await loadAdapter(column);
    const expected = row[column] ?? (column === 'openai' ? { has: row.body } : row.others);
    if (expected === undefined) throw new Error(`the row says nothing of ${column}`);
    const upstreamModel = row.models?.[column] ?? models[column];
    const request = adapter.chatRequest(chat(row.body), target({ upstreamModel, ...row.target }));
    if ('refused' in expected) {
      expect(request).toEqual({
        unsupported: expect.stringContaining(`\`${expected.refused}\``),
        param: expected.refused,
      });
      return;
    }
    if ('unsupported' in request) throw new Error(request.unsupported);
    expect(JSON.parse(request.body)).toMatchObject(expected.has ?? {});
    if (expected.absent !== undefined) expect(request.body).not.toContain(expected.absent);
  });
});

it('every row of the guide has a test, and every test has a row', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../../../docs/reference/provider-fields.md'), 'utf8');
  const table = guide.slice(guide.indexOf('| field | openai, azure |')).split('\n\n')[0]?.split('\n').slice(2) ?? [];
  const documented = table.map((line) => line.split('|')[1]?.trim());
  expect(documented.length).toBeGreaterThan(20);
  expect(new Set(documented)).toEqual(new Set(rows.map(({ field }) => field)));
});
