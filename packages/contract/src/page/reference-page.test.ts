import { describe, expect, it } from 'vitest';
import { confidentialOrigin } from '../confidential/index.ts';
import { controlOrigin } from '../control/index.ts';
import { buildDocument } from '../document/build-document.ts';
import { referencePage } from './reference-page.ts';

const documents = [controlOrigin, confidentialOrigin].map(buildDocument);
const page = referencePage(
  documents.map((document, index) => ({ document, address: `https://${index === 0 ? 'control' : 'api'}.example` })),
);

describe('referencePage', () => {
  it('shows every operation with its path', () => {
    for (const [path, methods] of documents.flatMap(({ paths }) => Object.entries(paths))) {
      expect(page).toContain(path.replaceAll('/', '/<wbr>'));
      for (const { operationId } of Object.values(methods))
        expect(page).toMatch(new RegExp(`id="o[12]-${operationId}"`));
    }
  });

  it('has a target for every link, each of them once', () => {
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map((found) => found[1]);
    expect(new Set(ids).size).toBe(ids.length);
    const links = [...page.matchAll(/href="#([^"]+)"/g)].map((found) => found[1]);
    expect(links.length).toBeGreaterThan(100);
    expect(links.filter((link) => !ids.includes(link))).toEqual([]);
  });

  it('has no script, only its own style, and loads nothing', () => {
    expect(page).not.toMatch(/<script|<link|<img|<iframe|\son\w+=|\sstyle=|\ssrc=|url\(|@import/i);
    expect(page.match(/<style>/g)).toHaveLength(1);
  });

  it('escapes descriptions', () => {
    const [control] = documents;
    if (control === undefined) throw new Error('no document');
    const hostile = { ...control, info: { ...control.info, title: '<img src=x>"&\'', description: 'a <b>`<i>`' } };
    const shown = referencePage([{ document: hostile, address: 'https://x.example/"><script>' }]);
    expect(shown).not.toMatch(/<img|<b>|<i>|<script/);
    expect(shown).toContain('&lt;img src=x&gt;&quot;&amp;&#39;');
    expect(shown).toContain('a &lt;b&gt;<code>&lt;i&gt;</code>');
  });
});
