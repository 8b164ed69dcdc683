import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { shippedTrustedRoot, trustedRootDate } from './trusted-root.ts';

const require = createRequire(import.meta.url);

// To renew it: raise @sigstore/tuf, write its target `trusted_root.json` to the file, and set the date.
it('the shipped trusted root is that of Sigstore’s own package', () => {
  const { version } = require('@sigstore/tuf/package.json') as { version: string };
  const seeds = require('@sigstore/tuf/seeds.json') as Record<string, { targets: Record<string, string> }>;
  const target = seeds['https://tuf-repo-cdn.sigstore.dev']?.targets['trusted_root.json'] ?? '';
  expect(shippedTrustedRoot).toEqual(JSON.parse(Buffer.from(target, 'base64').toString()));
  expect({ version, trustedRootDate }).toEqual({ version: '5.0.1', trustedRootDate: '2026-11-05' });
});
