import { describe, expect, it } from 'vitest';
import { objectSchema } from './tool-schema.ts';

const text = { type: 'string' };

describe('the schema of a tool as one object', () => {
  it('stays as it is without alternatives at its top', () => {
    const schema = { type: 'object', properties: { a: { anyOf: [text, { type: 'null' }] } }, required: ['a'] };
    expect(objectSchema(schema)).toEqual(schema);
    expect(objectSchema(undefined)).toEqual({ type: 'object', properties: {} });
  });

  it('has the properties of all branches, requires what each requires, and tells the model the sets', () => {
    const schema = {
      description: 'Finds a person.',
      properties: { limit: { type: 'integer' } },
      required: ['limit'],
      oneOf: [
        { properties: { id: text, team: text }, required: ['team', 'id'] },
        { properties: { email: text, team: text }, required: ['team', 'email'] },
      ],
    };
    expect(objectSchema(schema)).toEqual({
      type: 'object',
      description: 'Finds a person. Give one of these sets of properties: `team`, `id`; or `team`, `email`.',
      properties: { limit: { type: 'integer' }, id: text, team: text, email: text },
      required: ['limit', 'team'],
    });
  });

  it('requires what any branch of `allOf` requires, and follows references within the schema', () => {
    const schema = {
      allOf: [{ $ref: '#/$defs/place' }, { properties: { days: { type: 'integer' } }, required: ['days'] }],
      $defs: { place: { type: 'object', properties: { city: text }, required: ['city'] } },
    };
    expect(objectSchema(schema)).toMatchObject({
      properties: { city: text, days: { type: 'integer' } },
      required: ['city', 'days'],
    });
    expect(objectSchema(schema)).not.toHaveProperty('allOf');
  });

  it('lets a property be what either branch says', () => {
    const branch = (type: string) => ({ properties: { value: { type } } });
    const { properties } = objectSchema({ anyOf: [branch('string'), branch('number'), branch('boolean')] });
    expect(properties).toEqual({ value: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] } });
  });

  it.each([2, 30, 1000])('ends soon for a schema that refers to itself %i times', (times) => {
    const self = Array.from({ length: times }, () => ({ $ref: '#/$defs/n' }));
    const other = Array.from({ length: times }, () => ({ $ref: '#/$defs/m' }));
    const schema = { $defs: { n: { anyOf: [...other, ...self] }, m: { anyOf: [...self, ...other] } }, anyOf: self };
    expect(objectSchema(schema)).toMatchObject({ type: 'object', properties: {} });
    const nested = { $defs: schema.$defs, anyOf: [{ anyOf: self }, { oneOf: other }, { allOf: self }] };
    expect(objectSchema(nested)).toMatchObject({ type: 'object' });
  });

  it('ends for a schema that refers to itself', () => {
    const schema = { $defs: { node: { anyOf: [{ $ref: '#/$defs/node' }] } }, anyOf: [{ $ref: '#/$defs/node' }] };
    expect(objectSchema(schema)).toMatchObject({ type: 'object', properties: {} });
  });
});
