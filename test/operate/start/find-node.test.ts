import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { findNode } from '../../../scripts/find-node.mjs';

const missing = 'error while loading shared libraries: libatomic.so.1: cannot open shared object file';
const [runs, lacks] = ['exit 0', `echo '${missing}' >&2; exit 127`];
const old = { execPath: '/usr/bin/node', versions: { node: '20.1.0' } };
let root: string;

async function program(path: string, script: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}

const packaged = (): string => join(root, `node_modules/node-linux-${process.arch}/bin/node`);
const usualPath = process.env.PATH;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'sotto-find-node-'));
  process.env.PATH = `${join(root, 'bin')}:${usualPath}`;
  return async () => {
    process.env.PATH = usualPath;
    await rm(root, { recursive: true });
  };
});

describe.skipIf(process.platform !== 'linux')('the Node that the project runs on', () => {
  it('is the one in its dependencies', async () => {
    await program(packaged(), runs);
    expect(findNode(root, old)).toBe(packaged());
  });

  it('is the running one, if that is new enough and the other is missing or does not start', async () => {
    expect(findNode(root)).toBe(process.execPath);
    await program(packaged(), lacks);
    expect(findNode(root)).toBe(process.execPath);
  });

  it('says what to install if neither works', async () => {
    expect(() => findNode(root, old)).toThrow(/no packaged Node.* 20\.1\.0\. Install Node 24 or later/);
    await program(packaged(), lacks);
    await program(join(root, 'bin/apt-get'), 'exit 100');
    expect(() => findNode(root, old)).toThrow(/does not run here \(.*libatomic\.so\.1.*\)\. Run .*install libatomic1/);
  });

  it.skipIf(process.getuid?.() !== 0)('as root installs the libraries that a slim Debian lacks', async () => {
    await program(packaged(), lacks);
    await program(
      join(root, 'bin/apt-get'),
      `case "$*" in *"install"*libatomic1*) printf '#!/bin/sh\\nexit 0\\n' > '${packaged()}';; esac`,
    );
    expect(findNode(root, old)).toBe(packaged());
  });
});
