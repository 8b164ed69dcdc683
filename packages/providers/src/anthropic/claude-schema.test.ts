import { expect, it } from 'vitest';
import { claudeSchema } from './claude-schema.ts';

it('keeps accepted keywords, closes objects, and drops bounds and unknown formats, at every depth', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 1, pattern: '^a', description: 'a name' },
      minimum: { type: 'integer', minimum: 0, maximum: 9 },
      either: { oneOf: [{ type: 'null' }, { $ref: '#/$defs/item' }] },
      list: {
        type: 'array',
        items: { type: 'object', properties: { x: { const: 1 } } },
        minItems: 2,
        uniqueItems: true,
      },
      day: { type: 'string', format: 'date' },
      link: { type: 'string', format: 'uri-reference' },
      count: { type: 'integer', format: 'int32' },
      format: { type: 'boolean' },
      any: true,
    },
    required: ['name'],
    additionalProperties: true,
    $defs: { item: { type: 'object', properties: { e: { enum: ['a', 'b'] } }, patternProperties: { x: {} } } },
  };
  expect(claudeSchema(schema)).toEqual({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      name: { type: 'string', description: 'a name' },
      minimum: { type: 'integer' },
      either: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/item' }] },
      list: {
        type: 'array',
        items: { type: 'object', properties: { x: { const: 1 } }, additionalProperties: false },
      },
      day: { type: 'string', format: 'date' },
      link: { type: 'string' },
      count: { type: 'integer' },
      format: { type: 'boolean' },
      any: true,
    },
    required: ['name'],
    additionalProperties: false,
    $defs: {
      item: { type: 'object', properties: { e: { enum: ['a', 'b'] } }, additionalProperties: false },
    },
  });
});
