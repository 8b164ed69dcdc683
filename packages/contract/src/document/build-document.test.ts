import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { confidentialOrigin } from '../confidential/index.ts';
import { controlOrigin } from '../control/index.ts';
import { buildDocument } from './build-document.ts';

describe.each([
  ['control', controlOrigin],
  ['confidential', confidentialOrigin],
])('the description of the %s origin', (_name, origin) => {
  const document = buildDocument(origin);
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));

  it('has each route once, with its own id and a tag', () => {
    expect(operations.length).toBe(origin.routes.length);
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    const tags = origin.tags.map(({ name }) => name);
    expect([...new Set(operations.flatMap((operation) => operation.tags))].sort()).toEqual([...tags].sort());
  });

  it('has examples that match its schemas', () => {
    let parsed = 0;
    for (const { body, answers } of origin.routes) {
      const contents = [...(body?.content ?? []), ...answers.flatMap(({ content = [] }) => content)];
      for (const { schema, example } of contents) {
        if (!(schema instanceof z.ZodType) || example === undefined) continue;
        schema.parse(example);
        parsed += 1;
      }
    }
    expect(parsed).toBeGreaterThan(3);
  });

  it('has every component that it refers to, and no other', () => {
    const text = JSON.stringify(document);
    for (const [kind, named] of Object.entries(document.components)) {
      if (kind === 'securitySchemes') continue;
      const referred = new Set(
        [...text.matchAll(/"#\/components\/(\w+)\/([\w-]+)"/g)]
          .filter((found) => found[1] === kind)
          .map((found) => found[2]),
      );
      for (const name of referred) expect(Object.keys(named), `${kind} ${name}`).toContain(name);
      expect([...referred].sort()).toEqual(Object.keys(named).sort());
    }
  });
});
