import { lexer, type Token, type Tokens, walkTokens } from 'marked';
import { expect, it } from 'vitest';
import { readDiagram } from './diagram.tsx';
import { forDeployment } from './for-deployment.ts';
import { findGuides, grouped, guideAt, guideLink, guides, headingId, sectionsOf } from './guides.ts';

/** All tokens of a type in a guide. */
function tokensOf<Found extends Token>(text: string, type: Found['type']): Found[] {
  const found: Found[] = [];
  walkTokens(lexer(text), (token) => {
    if (token.type === type) found.push(token as Found);
  });
  return found;
}
const headingsOf = (path: string): string[] =>
  tokensOf<Tokens.Heading>(guideAt(path)?.text ?? '', 'heading').map(({ text }) => headingId(text));

it('each link within a guide leads to a guide and a heading that exist, or to a file of the repository', () => {
  let checked = 0;
  for (const { path, text } of guides) {
    for (const { href } of tokensOf<Tokens.Link>(text, 'link')) {
      if (/^[a-z]+:/.test(href)) continue;
      const target = guideLink(path, href);
      if (target === undefined) {
        // The target is not a guide: a folder, a file beside `docs`, or one that is not Markdown.
        expect(/^(?:\.\.\/)+(?!docs)[\w.-]|(?:^|\/)[\w-]+\/?$/.test(href), `${path}: ${href}`).toBe(true);
        continue;
      }
      checked += 1;
      if (target.hash !== '') expect(headingsOf(target.path), `${path}: ${href}`).toContain(target.hash);
    }
  }
  expect(checked).toBeGreaterThan(200);
});

it('each diagram of a guide can be drawn', () => {
  const drawn = guides.flatMap(({ text }) =>
    tokensOf<Tokens.Code>(text, 'code').flatMap(({ lang, text: source }) =>
      lang === 'mermaid' ? [readDiagram(source)] : [],
    ),
  );
  expect(drawn.length).toBeGreaterThan(7);
  for (const { arrows } of drawn) expect(arrows.length).toBeGreaterThan(2);
  expect(() => readDiagram('flowchart LR\n  a ==> b')).toThrow('not a diagram');
  expect(() => readDiagram('sequenceDiagram\n  loop every minute')).toThrow('not a diagram');
});

it('reads boxes, groups and arrows of each kind', () => {
  const head = { isDashed: false, hasHead: true };
  expect(
    readDiagram(
      'flowchart LR\n subgraph x ["In here"]\n a((A)) -->|first| b[(B<br/>b)]\n end\n b --- c{C?} -. "no" .-> a',
    ),
  ).toEqual({
    isSequence: false,
    groups: [{ title: 'In here', boxes: ['A', 'B<br/>b'] }],
    arrows: [
      { from: 'A', to: 'B<br/>b', label: 'first', ...head },
      { from: 'B<br/>b', to: 'C?', label: '', isDashed: false, hasHead: false },
      { from: 'C?', to: 'A', label: 'no', isDashed: true, hasHead: true },
    ],
  });
  expect(readDiagram('sequenceDiagram\n participant A as Ann\n A-->>B: hello, you').arrows).toEqual([
    { from: 'Ann', to: 'B', label: 'hello, you', isDashed: true, hasHead: true },
  ]);
  expect(readDiagram('stateDiagram-v2\n [*] --> Held: a ticket\n Held --> [*]').arrows).toEqual([
    { from: 'Start', to: 'Held', label: 'a ticket', ...head },
    { from: 'Held', to: 'End', label: '', ...head },
  ]);
});

const deployment = {
  controlOrigin: 'https://control.acme.example',
  confidentialOrigin: 'https://api.acme.example',
  key: 'sotto_inf_KEY',
  email: 'ann@acme.example',
  models: { 'demo/chat': 'acme/small' },
};
const ofUsers = grouped(guides).flatMap(({ isOfUsers, pages }) => (isOfUsers ? pages : []));

it('no guide of users needs a checkout', () => {
  expect(ofUsers.length).toBeGreaterThan(30);
  for (const { path, text } of ofUsers.filter((guide) => guide.path !== 'reference/simulation')) {
    const shown = forDeployment(text, deployment).replaceAll(/<!--[^>]*-->/g, '');
    expect(shown.match(/.*(?:npm start|\.sotto\/env|npm run |a checkout|--allow-simulated |demo\/chat).*/g), path).toBe(
      null,
    );
  }
});

it('a guide has the addresses of the deployment, and the key of its reader', () => {
  const python = forDeployment(guideAt('tools/python')?.text ?? '', deployment);
  expect(python).toContain('export BASE_URL=https://api.acme.example/v1\nexport INFERENCE_KEY=sotto_inf_KEY\n');
  expect(python).toContain('model="acme/small"');
  const routing = forDeployment(guideAt('use/routing-preferences')?.text ?? '', deployment);
  expect(routing).toContain(
    '```sh\nexport BASE_URL=https://api.acme.example/v1\nexport INFERENCE_KEY=sotto_inf_KEY\ncurl',
  );
  expect(routing).toContain('export CONTROL_URL=https://control.acme.example/v1\nexport EMAIL=ann@acme.example\n');
});

it('a guide has the command of the checkout for a person whose machine runs the service', () => {
  const here = { ...deployment, confidentialOrigin: 'http://127.0.0.1:4001' };
  const text = forDeployment(guideAt('use/private-client')?.text ?? '', here);
  expect(text).toContain('Run the command in the folder of Sotto, as `npm run -s sotto --`.');
  expect(text).toContain("echo 'Hello there' | npm run -s sotto -- chat --model acme/small --allow-simulated\n");
  expect(ofUsers.flatMap(({ text: own }) => forDeployment(own, here).match(/^ *sotto [a-z].*/gm) ?? [])).toEqual([]);
});

it('a guide lists its sections', () => {
  expect(sectionsOf('# One\n## Two `words`\n### Three\n## Four')).toEqual([
    { id: 'two-words', title: 'Two words' },
    { id: 'four', title: 'Four' },
  ]);
});

it('finds guides by any of their words, titles first', () => {
  const titled = findGuides('billing').filter(({ title }) => /billing/i.test(title));
  expect(titled.map(({ path }) => path)).toContain('use/billing');
  expect(findGuides('billing').slice(0, titled.length)).toEqual(titled);
  expect(findGuides('SILENT time estimated').map(({ path }) => path)).toContain('use/billing');
  expect(findGuides('no such words anywhere')).toEqual([]);
});
