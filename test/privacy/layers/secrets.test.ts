import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const onServers = [
  ...['state', 'server', 'providers', 'attestation', 'router'].map((name) => `packages/${name}/src`),
  ...['control', 'confidential', 'embedded'].map((name) => `apps/${name}/src`),
];

const sources = onServers.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|lua)$/.test(name) && !name.endsWith('.test.ts') && !name.includes('testing/'))
    .map((name) => ({ path: `${folder}/${name}`, text: readFileSync(join(root, folder, name), 'utf8') })),
);

/** The lines that match a pattern, as `path: line`. */
const linesWith = (pattern: RegExp): string[] =>
  sources.flatMap(({ path, text }) =>
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => !/^(?:\/\/|\*|\/\*|--)/.test(line) && pattern.test(line))
      .map((line) => `${path}: ${line}`),
  );

describe('secrets', () => {
  it("were searched for in the servers' sources", () => {
    expect(sources.length).toBeGreaterThan(350);
    expect(linesWith(/\brandomBytes\(/).length).toBeGreaterThan(15);
  });

  it("and ids come only from the system's generator", () => {
    // These choose the measured route among equal ones, and a free port to try. Guessing either is useless.
    expect(linesWith(/Math\.random/).map((line) => line.split(':')[0])).toEqual([
      'apps/confidential/src/wiring.ts',
      'apps/embedded/src/postgres/launch.ts',
    ]);
    expect(linesWith(/pseudoRandom|toString\(36\)|['"]nanoid|['"]uuid['"]/)).toEqual([]);
  });

  it('have at least 96 random bits wherever bytes are requested, except values that only have to differ', () => {
    const few = linesWith(/\b(?:randomBytes|randomId)\((?:\d|1[01])\)/);
    expect(few.map((line) => line.split(':')[0]).sort()).toEqual(
      [
        // An answer's id from the demo provider.
        'apps/embedded/src/demo/demo-provider.ts',
        // A name for a sum of measurements.
        'apps/confidential/src/planning/measurement-log.ts',
        // A folder's name, under a lock of the kernel.
        'packages/attestation/src/producers/configfs.ts',
        // The ids of spans, whose length OpenTelemetry defines.
        'packages/server/src/tracing/tracing.ts',
      ].sort(),
    );
  });

  it('are compared in constant time, or found by their hash', () => {
    const compared =
      /\b\w*(?:mac|signature|secret|password|token|hash|digest|apiKey)\w*(?:\)|\])? [!=]==? (?!undefined|null|''|'|\d|true|false|typeof)/i;
    const known = [
      // A number of tokens a second.
      ['packages/router/src/health/measurement.ts', 'tokensPerSecond'],
      // Digests of public documents: evidence, a catalog, a registry.
      ['packages/attestation/src/dstack/verify-dstack.ts', 'composeHash'],
      ['packages/attestation/src/receipt/verify-receipt.ts', 'provider_registry_digest'],
      ['apps/control/src/catalog/catalog-keeper.ts', 'published?.digest === digest'],
      ['apps/confidential/src/wiring.ts', 'digest !== view.registry.digest'],
      // A record that was found by its hash.
      ['packages/state/src/memory/shard-funds.ts', 'keyHash === hash'],
      // Hashes of a key's secrets. The key was found by one of them, and a hash that nearly matches helps nobody to find a secret.
      ['packages/state/src/memory/memory-state.ts', 'secretHash === keyHash'],
      ['packages/state/src/memory/shard-keys.ts', 'secretHash === keyHash'],
      ['packages/state/src/memory/shard-keys.ts', 'secret.secretHash === secretHash'],
      ['packages/state/src/redis/key-index.ts', 'secretHash === keyHash'],
      ['packages/state/src/redis/scripts/parts/secrets.lua', 'secret == keyhash'],
      ['packages/state/src/redis/scripts/parts/secrets.lua', 'hash == secret'],
    ] as const;
    const unknown = linesWith(compared).filter(
      (line) => !known.some(([path, part]) => line.startsWith(path) && line.includes(part)),
    );
    expect(unknown).toEqual([]);
    // Each known exception still exists.
    for (const [path, part] of known) {
      expect(
        linesWith(compared).some((line) => line.startsWith(path) && line.includes(part)),
        `${path}: ${part}`,
      ).toBe(true);
    }
    expect(linesWith(/timingSafeEqual\(/).length).toBe(6);
  });
});
