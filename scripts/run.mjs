// The bootstrap behind `npm start`, `npm test`, `npm run check`, `npm run control`, `npm run bench`, `npm run fuzz`,
// `npm run image`, `npm run package` and `npm run changeset`. Plain JavaScript for Node 18 and later, without dependencies: it
// brings the dependencies and the project's own Node, then runs the command on that Node directly, because npx and pnpm
// forward neither SIGTERM nor the terminal's intent.

import { fileURLToPath } from 'node:url';
import { runSteps } from './check.mjs';
import { ensureDashboard } from './dashboard.mjs';
import { findNode } from './find-node.mjs';
import { ensureInstalled } from './install.mjs';
import { superviseNode } from './supervise.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = '--conditions=@sotto/source';

/** Benches with a file of their own; every other name is a part of `main`. */
const ownBenches = new Set('usage settler measurements planning simulation proxy dashboard bodies'.split(' '));

/** Each command: what it runs on the project's Node, given the arguments that followed it. Resolves to an exit `code`. */
const commands = {
  start: async (context, args) => {
    await ensureDashboard(context);
    return superviseNode(context, [
      source,
      '--disable-warning=ExperimentalWarning',
      // A signal would open the inspector otherwise.
      '--disable-sigusr1',
      'apps/embedded/src/main.ts',
      ...args,
    ]);
  },
  // `.ci/run` sets the variable; files that are named run whatever their project.
  test: (context, args) => {
    const isShort = args.length === 0 && process.env.SOTTO_TEST_ALL !== '1';
    const projects = isShort ? ['--project', 'unit', '--project', 'system'] : [];
    return superviseNode(context, ['node_modules/vitest/vitest.mjs', 'run', ...projects, ...args]);
  },
  control: async (context, args) => {
    if (args[0] === 'serve') await ensureDashboard(context);
    return superviseNode(context, [source, 'apps/control/src/main.ts', ...args]);
  },
  bench: (context, args) => {
    const [file, rest] = ownBenches.has(args[0]) ? [args[0], args.slice(1)] : ['main', args];
    return superviseNode(context, [source, `tools/bench/${file}.ts`, ...rest]);
  },
  fuzz: (context, args) =>
    superviseNode(context, [source, '--disable-warning=ExperimentalWarning', 'tools/fuzz/run.ts', ...args]),
  package: async (context, args) => {
    const { code } = await superviseNode(context, ['node_modules/typescript/bin/tsc', '-b', 'packages/client']);
    return code === 0 ? superviseNode(context, ['packages/client/build/build-package.ts', ...args]) : { code };
  },
  changeset: (context, args) => superviseNode(context, ['node_modules/@changesets/cli/bin.js', ...args]),
  image: async (context, args) => {
    if (args[0] === 'control') await ensureDashboard(context);
    const { code } = await superviseNode(context, [
      'node_modules/typescript/bin/tsc',
      '-b',
      'apps/control',
      'apps/confidential',
      'apps/keeper',
    ]);
    return code === 0 ? superviseNode(context, ['deploy/images/assemble.mjs', ...args]) : { code };
  },
  check: (context) =>
    runSteps(context, [
      // In `ci` it colours every letter, terminal or not.
      { name: 'biome ci .', args: ['node_modules/@biomejs/biome/bin/biome', 'ci', '--colors=off', '.'] },
      { name: 'tsc -b', args: ['node_modules/typescript/bin/tsc', '-b'] },
      { name: 'knip', args: ['node_modules/knip/bin/knip.js'] },
      {
        name: 'vitest run --project unit',
        args: ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit'],
      },
    ]),
};

async function main() {
  const [name, ...args] = process.argv.slice(2);
  if (name === undefined || !Object.hasOwn(commands, name)) {
    throw new Error(`usage: node scripts/run.mjs ${Object.keys(commands).join('|')} [arguments]`);
  }
  await ensureInstalled(root);
  const { code } = await commands[name]({ root, node: findNode(root) }, args);
  return code;
}

// Not process.exit(): what is still on its way to a pipe would be lost.
try {
  process.exitCode = await main();
} catch (error) {
  console.error(`sotto: ${error.message}`);
  process.exitCode = 1;
}
