import type { OpenApiDocument } from '@sotto/contract';
import { expect, describe as group, it } from 'vitest';
import { describe, fieldsOf, findOperations, samplesOf, typeOf } from './described.ts';

const schemas = {
  Team: {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 80, description: 'Shown to members.' },
      lead: { $ref: '#/components/schemas/Person' },
      size: { type: 'integer', minimum: 1, default: 3 },
    },
  },
  Person: { type: 'object', properties: { team: { $ref: '#/components/schemas/Team' }, email: { type: 'string' } } },
};
const json = (schema: object, example?: unknown) => ({ 'application/json': { schema, example } });
const document = {
  tags: [{ name: 'Second' }, { name: 'First' }],
  paths: {
    '/v1/teams/{teamId}': {
      put: {
        ...{ operationId: 'setTeam', tags: ['First'], summary: 'Change a team', security: [{ managementKey: [] }] },
        parameters: [{ name: 'dry', in: 'query', required: true, description: '', schema: {}, example: 'yes' }],
        requestBody: {
          required: true,
          content: json(
            { $ref: '#/components/schemas/Team' },
            { name: "O'Neil", isOpen: true, lead: null, tags: ['a'] },
          ),
        },
        responses: { '200': { description: 'The team.' }, '409': { description: '`conflict`: The name is taken.' } },
      },
    },
    '/v1/time': {
      get: {
        operationId: 'getTime',
        tags: ['Second'],
        summary: 'Get the time',
        security: [],
        responses: { '204': { description: 'Now.' } },
      },
    },
    '/v1/nothing': {
      get: {
        operationId: 'getNothing',
        tags: ['Second'],
        summary: 'Always 404',
        security: [],
        responses: { '404': { description: 'None.' } },
      },
    },
  },
  components: { schemas, examples: {} },
} as unknown as OpenApiDocument;
const all = describe('control', 'https://control.example', document);
const [time, team] = all;

it('lists operations that can succeed by the order of the tags, and finds them by path, field and error', () => {
  const found = (typed: string) => findOperations(all, typed).map(({ operation }) => operation.operationId);
  expect(found('')).toEqual(['getTime', 'setTeam']);
  expect(found('PUT /v1/teams')).toEqual(['setTeam']);
  expect(found('email conflict')).toEqual(['setTeam']);
  expect(found('nothing')).toEqual([]);
});

group('fields', () => {
  it('say their type, bounds and whether they are required; a field may hold itself', () => {
    const fields = fieldsOf({ $ref: '#/components/schemas/Team' }, schemas);
    expect(fields.map(({ name, type, isRequired }) => [name, type, isRequired])).toEqual([
      ['name', 'string, 1 to 80 characters', true],
      ['lead', 'Person', false],
      ['size', 'integer, at least 1, default 3', false],
    ]);
    const [inner] = fieldsOf(fields[1]?.schema ?? {}, schemas);
    expect(fieldsOf(inner?.schema ?? {}, schemas)).toHaveLength(3);
  });

  it('of several shapes are grouped by the constant that tells them apart', () => {
    const shape = (kind: string) => ({ type: 'object', properties: { kind: { const: kind }, [kind]: {} } });
    const either = { oneOf: [shape('text'), shape('image'), { type: 'null' }] };
    expect(fieldsOf(either, {}).map(({ name }) => name)).toEqual(['with kind: "text"', 'with kind: "image"']);
    expect(fieldsOf({ oneOf: [shape('text'), { type: 'null' }] }, {}).map(({ name }) => name)).toEqual([
      'kind',
      'text',
    ]);
    expect(typeOf({ type: 'array', items: { enum: ['a', 2] }, maxItems: 5 })).toBe(
      'array of "a", 2, at most 5 entries',
    );
  });
});

it('writes requests in three languages, with secrets from the environment', () => {
  if (team === undefined || time === undefined) throw new Error('an operation is missing');
  expect(samplesOf(team, 'managementKey')).toEqual({
    curl: `curl -X PUT "https://control.example/v1/teams/TEAM_ID?dry=yes" \\
  -H "authorization: Bearer $MANAGEMENT_KEY" \\
  -H 'content-type: application/json' \\
  -d '{"name":"O'\\''Neil","isOpen":true,"lead":null,"tags":["a"]}'`,
    python: `import os, requests

answer = requests.put(
    "https://control.example/v1/teams/TEAM_ID?dry=yes",
    headers={
        "authorization": "Bearer " + os.environ["MANAGEMENT_KEY"],
    },
    json={
        "name": "O'Neil",
        "isOpen": True,
        "lead": None,
        "tags": [
            "a",
        ],
    },
)
answer.raise_for_status()
print(answer.text)`,
    javascript: `const answer = await fetch('https://control.example/v1/teams/TEAM_ID?dry=yes', {
  method: 'PUT',
  headers: {
    'authorization': \`Bearer \${process.env.MANAGEMENT_KEY}\`,
    'content-type': 'application/json',
  },
  body: JSON.stringify({
    "name": "O'Neil",
    "isOpen": true,
    "lead": null,
    "tags": [
      "a"
    ]
  }),
});
if (!answer.ok) throw new Error(await answer.text());
console.log(await answer.text());`,
  });
  expect(samplesOf(team, 'managementKey', { name: 'Mine' }).curl).toContain(`-d '{"name":"Mine"}'`);
  expect(samplesOf(time, undefined).javascript).toContain("await fetch('https://control.example/v1/time');\n");
});
