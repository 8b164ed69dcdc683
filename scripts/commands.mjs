// The npm scripts. This installs the dependencies and the project's own Node, and runs the command on that Node. It starts Node
// directly, because npx and pnpm do not forward SIGTERM. It is plain JavaScript for Node 18 and later, without dependencies.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureDashboard, ensurePlayground } from './dashboard.mjs';
import { findNode } from './find-node.mjs';
import { ensureInstalled } from './install.mjs';
import { inForeground, supervise, superviseNode, typedIn } from './supervise.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = '--conditions=@sotto/source';

/** Commands of people who use the service. The others are for its developers, and need more packages. */
const needsLittle = new Set(['start', 'control', 'sotto']);

/** Each command runs on the project's Node with the arguments after its name. Resolves to an exit `code`. */
const commands = {
  start: async (context, args) => {
    await ensureDashboard(context);
    return superviseNode(context, [
      source,
      '--disable-warning=ExperimentalWarning',
      // Without this flag, SIGUSR1 would open the inspector.
      '--disable-sigusr1',
      'apps/embedded/src/main.ts',
      ...args,
    ]);
  },
  // Restarts both planes when their files change. Vite serves the dashboard and replaces changed modules.
  dev: async (context) => {
    const app = join(root, 'apps/dashboard');
    const planes = supervise(
      context.node,
      [
        source,
        '--disable-warning=ExperimentalWarning',
        '--watch',
        '--watch-preserve-output',
        'apps/embedded/src/main.ts',
      ],
      { cwd: root, env: { ...process.env, SOTTO_SEED_USAGE: 'on' }, wholeGroup: true },
    );
    const page = supervise(context.node, ['node_modules/vite/bin/vite.js', '--clearScreen=false'], {
      cwd: app,
      env: process.env,
      wholeGroup: true,
    });
    const [ended] = await Promise.all([planes, page]);
    return ended;
  },
  // Files in the arguments run regardless of their project. SOTTO_TEST_ALL=1 runs everything.
  test: (context, args) => {
    const isShort = args.length === 0 && process.env.SOTTO_TEST_ALL !== '1';
    const projects = isShort ? ['--project', 'unit', '--project', 'system'] : [];
    return superviseNode(context, ['node_modules/vitest/vitest.mjs', 'run', ...projects, ...args]);
  },
  control: async (context, args) => {
    if (args[0] === 'serve') await ensureDashboard(context);
    return superviseNode(context, [source, join(root, 'apps/control/src/main.ts'), ...args], { cwd: typedIn() });
  },
  sotto: async (context, args) => {
    if (args[0] === 'playground') await ensurePlayground(context);
    return inForeground(context, [
      source,
      '--disable-warning=ExperimentalWarning',
      join(root, 'packages/client/src/command/main.ts'),
      ...args,
    ]);
  },
  bench: (context, args) => superviseNode(context, [source, 'tools/bench/main.ts', ...args]),
  fuzz: (context, args) =>
    superviseNode(context, [source, '--disable-warning=ExperimentalWarning', 'tools/fuzz/run.ts', ...args]),
  thorough: (context) =>
    inForeground(context, [source, '--disable-warning=ExperimentalWarning', 'tools/ci/thorough.ts']),
  mutants: (context, args) =>
    superviseNode(context, [source, '--disable-warning=ExperimentalWarning', 'tools/mutants/run.ts', ...args]),
  stress: (context, args) =>
    superviseNode(context, [source, '--disable-warning=ExperimentalWarning', 'tools/stress/run.ts', ...args]),
  package: async (context, args) => {
    await ensurePlayground(context);
    const { code } = await superviseNode(context, ['node_modules/typescript/bin/tsc', '-b', 'packages/client']);
    return code === 0 ? superviseNode(context, ['packages/client/build/build-package.ts', ...args]) : { code };
  },
  changeset: (context, args) => superviseNode(context, ['node_modules/@changesets/cli/bin.js', ...args]),
  docs: (context) => superviseNode(context, [source, 'tools/reference/pages.ts']),
  image: async (context, args) => {
    if (args[0] === 'control') await ensureDashboard(context);
    return superviseNode(context, ['deploy/images/assemble.mjs', ...args]);
  },
  check: (context) =>
    runSteps(context, [
      // `biome ci` would use colors even without a terminal.
      { name: 'biome ci .', args: ['node_modules/@biomejs/biome/bin/biome', 'ci', '--colors=off', '.'] },
      { name: 'links and citations', args: ['scripts/check-text.mjs'] },
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
  await ensureInstalled(root, needsLittle.has(name) ? 'start' : 'all');
  const { code } = await commands[name]({ root, node: findNode(root) }, args);
  return code;
}

// process.exit() would lose output that is still on its way to a pipe.
try {
  process.exitCode = await main();
} catch (error) {
  console.error(`sotto: ${error.message}`);
  process.exitCode = 1;
}

/**
 * Runs the steps in order, stops at the first failure, and shows the output of that step. Prints one line per step.
 * Resolves to the exit `code` of the last step that ran.
 */
async function runSteps(context, steps) {
  for (const { name, args } of steps) {
    const startedAt = performance.now();
    const { code, output } = await superviseNode(context, args, { capture: true });
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    if (code !== 0) process.stdout.write(output);
    console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
    if (code !== 0) return { code };
  }
  return { code: 0 };
}
