import { expect, it } from 'vitest';
import * as z from 'zod';
import { contracts } from '../contract.ts';
import { describeAsStated } from '../describe-routes.ts';
import { bodyFields } from './body-fields.ts';

const fieldsOf = (body: z.ZodType) =>
  bodyFields({
    title: '',
    description: '',
    tags: [],
    schemas: [],
    routes: describeAsStated(
      '',
      contracts({ 'POST /v1/x': { operationId: 'x', summary: 'x', credentials: [], body } }),
    ),
  })['POST /v1/x'];

it('states what each field takes, and its bounds', () => {
  expect(
    fieldsOf(
      z.strictObject({
        name: z.string().trim().min(1).max(100),
        mail: z.email().max(254),
        limit_usd: z.number().gt(0).max(5).nullish(),
        count: z.int().min(1).optional(),
        uris: z.array(z.url()),
        kind: z.enum(['a', 'b']),
      }),
    ),
  ).toEqual({
    name: { type: 'text', required: true, minLength: 1, maxLength: 100 },
    mail: { type: 'text', required: true, email: true, maxLength: 254 },
    limit_usd: { type: 'number', nullable: true, above: 0, max: 5 },
    count: { type: 'integer', min: 1 },
    uris: { type: 'texts', required: true },
    kind: { type: 'other', required: true },
  });
});

it('names the fields of an inner object with its name, whether null may replace the object or not', () => {
  const fields = fieldsOf(z.strictObject({ auto: z.strictObject({ usd: z.number() }).nullable() }));
  expect(fields).toEqual({
    auto: { type: 'other', required: true, nullable: true },
    'auto.usd': { type: 'number', required: true },
  });
});

it('has the fields of all forms of a body', () => {
  const deny = z.strictObject({ decision: z.literal('deny') });
  const allow = z.strictObject({ decision: z.literal('allow'), limit_usd: z.number().optional() });
  expect(Object.keys(fieldsOf(z.discriminatedUnion('decision', [deny, allow])) ?? {})).toEqual([
    'decision',
    'limit_usd',
  ]);
});
