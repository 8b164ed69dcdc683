import { join } from 'node:path';
import type { DemoAccount } from './demo/demo-account.ts';
import { keep } from './kept-file.ts';

export interface QuickstartFacts {
  readonly dataDir: string;
  readonly controlOrigin: string;
  readonly confidentialOrigin: string;
  readonly account: DemoAccount;
  /** Whether both planes are one process. */
  readonly oneProcess: boolean;
  /** A model that can be asked; undefined: none can. */
  readonly model: string | undefined;
  readonly hasDemo: boolean;
}

/** Writes `quickstart.json` (design 6) and answers what is printed beside it. */
export async function writeQuickstart(facts: QuickstartFacts): Promise<string> {
  const { dataDir, controlOrigin, confidentialOrigin, account } = facts;
  const file = join(dataDir, 'quickstart.json');
  await keep(file, {
    control_url: `${controlOrigin}/v1`,
    base_url: `${confidentialOrigin}/v1`,
    dashboard_url: `${controlOrigin}/`,
    inference_key: account.inferenceKey,
    management_key: account.managementKey,
    email: account.email,
    password: account.password,
  });
  return banner(facts, file);
}

function banner(
  { controlOrigin, confidentialOrigin, account, oneProcess, model: served, hasDemo }: QuickstartFacts,
  file: string,
): string {
  const model = served ?? '/auto';
  const body = `{"model":"${model}","messages":[{"role":"user","content":"Hello"}]}`;
  return [
    '',
    'Sotto is running.',
    '',
    `  Control origin       ${controlOrigin}/v1`,
    `  Confidential origin  ${confidentialOrigin}/v1`,
    `  Dashboard            ${controlOrigin}/`,
    `  Inference key        ${account.inferenceKey}`,
    `  Also written to      ${file}`,
    '',
    oneProcess
      ? 'Both planes run in ONE process, for trying out: it does keep identity and content apart in code, not in memory.\nSet REDIS_URL to run them as two.'
      : 'The planes run as two processes.',
    ...(hasDemo
      ? ['The demo provider runs on this machine, is no language model and only repeats what it is told.']
      : []),
    ...(served === undefined ? ['No model can be asked yet: no key of a provider is in the environment.'] : []),
    'Real providers are used as soon as their key is in the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, GROQ_API_KEY, ...).',
    '',
    'Compatibility mode (any OpenAI client; the broker sees key and content together):',
    '',
    `  curl ${confidentialOrigin}/v1/chat/completions -H 'authorization: Bearer ${account.inferenceKey}' -H 'content-type: application/json' -d '${body}'`,
    '',
    'Private flow (the key goes to control only, the content to the broker only):',
    '',
    `  TICKET=$(curl -s ${controlOrigin}/v1/inference/tickets -H 'authorization: Bearer ${account.inferenceKey}' -H 'content-type: application/json' -d '{"model":"${model}"}' | sed 's/.*"ticket":"\\([^"]*\\)".*/\\1/')`,
    `  curl ${confidentialOrigin}/v1/chat/completions -H "x-router-ticket: $TICKET" -H 'content-type: application/json' -d '${body}'`,
    '',
    'Ctrl-C ends it.',
    '',
  ].join('\n');
}
