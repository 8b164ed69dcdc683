import { expect, it } from 'vitest';
import { describedRoute, routesOf } from './described-route.ts';
import { documentsOf } from './documents.ts';
import { publicFiles } from './public-files.ts';

const documents = documentsOf([
  [
    'README.md',
    '# Docs\n\n**Where to begin**\n\n- [Keys](use/keys.md)\n\n**Use**: [Keys](use/keys.md) · [Gone](use/gone.md)\n\n**Tools**\n\n- [Keys](use/keys.md), [Skill](tools/agent-skill.md#set-up)\n- [Skill](tools/agent-skill.md)\n',
  ],
  [
    'use/keys.md',
    '# Keys\n\nCreate a [key](other.md) for `programs`: it opens models. More follows.\n\nA second paragraph about budgets. <!-- checkout -->Run npm start.<!-- /checkout -->\n',
  ],
  ['tools/agent-skill.md', '# Skill\n\nAsk https://api.example.com/v1, not https://api.example.community.\n'],
  ['decisions/why.md', '# Reasons\n\nKeys are short.\n'],
]);

it('pages stand in the sections of the index, once, and the others at the end', () => {
  expect(documents.sections.map(({ title, pages }) => [title, pages.map(({ path }) => path)])).toEqual([
    ['Use', ['use/keys']],
    ['Tools', ['tools/agent-skill']],
    ['Optional', ['decisions/why']],
  ]);
  expect(documents.at('use/keys')).toMatchObject({ title: 'Keys', summary: 'Create a key for programs.' });
});

it('a search wants all words, and prefers those of titles', () => {
  const found = (words: string) => documents.search(words).map(({ page: { path } }) => path);
  expect(found('keys')).toEqual(['use/keys', 'decisions/why']);
  expect(found('KEYS budgets')).toEqual(['use/keys']);
  expect(documents.search('budgets')[0]?.line).toBe('A second paragraph about budgets.');
  // Readers of a deployment have no checkout.
  expect(found('npm')).toEqual([]);
  expect([found('keys nothing'), found('  ')]).toEqual([[], []]);
});

it('files have the addresses of the deployment', () => {
  const files = publicFiles(documents, {
    controlOrigin: 'https://control.test',
    confidentialOrigin: 'https://broker.test',
  });
  expect([...files.keys()].sort()).toEqual([
    '/guides/decisions/why.md',
    '/guides/tools/agent-skill.md',
    '/guides/use/keys.md',
    '/llms.txt',
    '/skills/sotto/SKILL.md',
  ]);
  expect(files.get('/skills/sotto/SKILL.md')).toContain(
    'Ask https://broker.test/v1, not https://api.example.community.',
  );
  expect(files.get('/llms.txt')).toContain(
    '- [Keys](https://control.test/guides/use/keys.md): Create a key for programs.',
  );
});

it('a route is described with what it refers to, also in circles, and nothing else', () => {
  const components = {
    schemas: {
      One: { properties: { two: { $ref: '#/components/schemas/Two' } } },
      Two: { $ref: '#/components/schemas/One' },
      Other: {},
    },
  };
  const get = { summary: 'Get it', content: { $ref: '#/components/schemas/One' } };
  const document = { paths: { '/v1/it': { get, parameters: [] } }, components };
  const { One, Two } = components.schemas;
  expect(routesOf(document)).toEqual([{ route: 'GET /v1/it', summary: 'Get it' }]);
  expect(describedRoute(document, 'GET /v1/it')).toEqual({
    paths: { '/v1/it': { get } },
    components: { schemas: { One, Two } },
  });
  expect(describedRoute(document, 'PUT /v1/it')).toBeUndefined();
});
