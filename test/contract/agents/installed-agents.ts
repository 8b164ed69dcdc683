import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { agents } from '@sotto/client/testing';
import { noteSkip } from '@sotto/test-servers';
import { runSotto, type SottoRun } from '../../kit/run-sotto.ts';
import type { Service, TestAccount } from '../../kit/service.ts';

/** The folder of the installed agents' programs, which `.ci/run` sets. */
export const programs = process.env.SOTTO_TEST_AGENTS ?? '';

/** The arguments by which an agent does a task without a person, on a machine that is a sandbox itself. */
export const alone: Readonly<Record<string, (prompt: string) => readonly string[]>> = {
  claude: (prompt) => ['-p', prompt, '--allowedTools', 'Read,Edit,Bash'],
  cline: (prompt) => ['--auto-approve', 'true', prompt],
  codex: (prompt) => ['exec', '--skip-git-repo-check', '--sandbox', 'danger-full-access', prompt],
  continue: (prompt) => ['-p', '--auto', prompt],
  gemini: (prompt) => ['--yolo', '--skip-trust', '-p', prompt],
  goose: (prompt) => ['run', '--no-session', '--with-builtin', 'developer', '-t', prompt],
  opencode: (prompt) => ['run', prompt],
  pi: (prompt) => ['-p', prompt],
  qwen: (prompt) => ['--yolo', '-p', prompt],
};

/** Whether an agent is there to be run. If not, the run says so. */
export function isInstalled(name: string): boolean {
  const isThere = programs !== '' && existsSync(join(programs, agents[name]?.program ?? name));
  if (!isThere) {
    noteSkip(
      programs === '' ? 'the coding agents' : `the coding agent ${name}`,
      'install the packages of test/contract/agents/package.json, and set SOTTO_TEST_AGENTS to their node_modules/.bin.',
    );
  }
  return isThere;
}

/** The environment of a user who has the agents installed. */
export const userEnvironment = (home: string, temporary: string): Record<string, string> => ({
  HOME: home,
  TMPDIR: temporary,
  PATH: [dirname(process.execPath), programs, process.env.PATH ?? ''].join(delimiter),
});

export interface AgentTask {
  readonly name: string;
  readonly service: Pick<Service, 'baseUrl' | 'controlUrl'>;
  readonly account: Pick<TestAccount, 'inferenceKey'>;
  /** Options of `sotto run`. */
  readonly options: readonly string[];
  /** Arguments of the agent, after those of `alone`. */
  readonly more?: readonly string[];
  readonly prompt: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly work: string;
}

/** Has an agent do a task by `sotto run`, without a terminal. */
export function runAgent({
  name,
  service,
  account,
  options,
  more = [],
  prompt,
  environment,
  work,
}: AgentTask): SottoRun {
  const at = ['--base-url', service.baseUrl, '--control-url', service.controlUrl, '--allow-simulated'];
  const args = ['run', name, ...at, ...options, '--', ...(alone[name]?.(prompt) ?? []), ...more];
  const run = runSotto(args, { ...environment, INFERENCE_KEY: account.inferenceKey }, work);
  run.child.stdin?.end();
  return run;
}
