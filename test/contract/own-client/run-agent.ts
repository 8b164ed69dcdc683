import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach } from 'vitest';
import { runSotto, type SottoRun } from '../../kit/run-sotto.ts';
import { apiKey, CommandStage, messages, model } from './stages.ts';
import { type Answer, completion, json } from './stand-in.ts';

/** Runs `sotto run` with programs of a test as its agents, against a stand-in service. */

export let stage: CommandStage;
const pricing = { input: 1, output: 10 };
export const listed = {
  ...{ id: model, object: 'model', model_type: 'text', name: model, context_length: 8000, max_output_tokens: 1000 },
  provider_routes: [{ provider: 'acme', privacy_class: 'private', pricing, max_output_tokens: 1000 }],
};
export const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10, cost: 0.001 };
const paid = { ...completion('Done.'), usage };

/** Lists the model, and mints tickets. */
export const controlAnswer: Answer = (_, response) =>
  json(response, 200, {
    ...{ object: 'list', data: [listed], ticket: 'ticket' },
    expires_at: new Date(Date.now() + 300_000).toISOString(),
  });

/** A file of tests begins with this. */
export function useAgents(): void {
  stage = new CommandStage();
  beforeEach(() => {
    stage.service.onControl(controlAnswer);
    stage.service.onBroker((_, response) => json(response.setHeader('x-router-privacy-class', 'private'), 200, paid));
  });
}

/** Puts a program of this name before all others on the PATH, runs it by `sotto run`, and returns the run. */
export async function run(
  agent: string,
  script: string,
  args: readonly string[] = [],
  forAgent: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
) {
  const program = join(stage.folder, agent);
  await writeFile(program, `#!${process.execPath}\n${script}`);
  await chmod(program, 0o755);
  return runSotto(['run', agent, ...args, ...stage.atService(), '--', ...forAgent], {
    ...environment,
    INFERENCE_KEY: apiKey,
    OPENAI_API_KEY: 'sk-of-another-service',
    OTHER_API_KEY: apiKey,
    PATH: `${stage.folder}:${process.env.PATH ?? ''}`,
    TMPDIR: stage.folder,
  });
}

export const endOf = async (own: SottoRun) => ({ code: await own.ended, out: own.out(), err: own.err() });

/** A program that asks by Anthropic's Messages `count` times, and prints each status and text. */
export const asking = (count: number, body: object = {}): string => `
const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: token } = process.env;
const body = JSON.stringify(${JSON.stringify({ model, max_tokens: 50, messages, ...body })});
const headers = { 'content-type': 'application/json', authorization: 'Bearer ' + token };
(async () => {
  for (let at = 0; at < ${count}; at += 1) {
    const answer = await fetch(url + '/v1/messages', { method: 'POST', headers, body });
    console.log(answer.status, (await answer.text()).replaceAll('\\n', ' '));
  }
})();
`;
