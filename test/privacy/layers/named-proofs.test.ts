import { globSync, readFileSync } from 'node:fs';
import { basename, matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const names = new Set(
  globSync(['apps/**/*', 'deploy/**/*', 'packages/**/*', 'scripts/*', 'test/**/*', 'tools/**/*'], {
    cwd: root,
    exclude: (path) => ['node_modules', 'dist', 'bundle', 'built'].includes(basename(path)),
  }).map((path) => basename(path)),
);

it.each(['docs/THREAT_MODEL.md', 'docs/SECURITY_REVIEW.md'])('each file that %s names as a proof exists', (page) => {
  const text = readFileSync(`${root}${page}`, 'utf8');
  const named = [...text.matchAll(/`([\w*./-]+\.(?:acl|lua|sh|tsx?))`/g)].map(([, path = '']) => basename(path));
  const missing = named.filter((name) => ![...names].some((known) => matchesGlob(known, name)));
  expect({ count: named.length > 20, missing }).toEqual({ count: true, missing: [] });
});
