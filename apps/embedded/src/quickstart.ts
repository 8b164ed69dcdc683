import { join, relative } from 'node:path';
import { ownSecretProblem } from '@sotto/wire';
import type { DemoAccount } from './demo/demo-account.ts';
import type { KeylessProvider } from './files/prepare-files.ts';
import { keep, keepText } from './kept-file.ts';

export interface QuickstartFacts {
  readonly dataDir: string;
  readonly controlOrigin: string;
  readonly confidentialOrigin: string;
  readonly account: DemoAccount;
  /** Whether one process runs both planes. */
  readonly oneProcess: boolean;
  /** An available model. Undefined if no model is available. */
  readonly model: string | undefined;
  readonly hasDemo: boolean;
  /** Whether `/auto` has a model to choose, with the tiers that a new workspace allows. */
  readonly auto: 'serves' | 'only_anonymous' | 'nothing';
  /** Lines about the model servers on this machine. */
  readonly localLines: readonly string[];
  /** Whether SIGHUP looks for them again. */
  readonly looksAgain: boolean;
  /** Whether the operator gave the registry. */
  readonly hasOwnRegistry: boolean;
  readonly withoutKey: readonly KeylessProvider[];
}

/**
 * Writes the origins and keys: `quickstart.json` for programs, and `env` for shells (`source .sotto/env`). Returns the text to
 * print.
 */
export async function writeQuickstart(facts: QuickstartFacts): Promise<string> {
  const { dataDir, controlOrigin, confidentialOrigin, account } = facts;
  const controlUrl = `${controlOrigin}/v1`;
  const baseUrl = `${confidentialOrigin}/v1`;
  await keep(join(dataDir, 'quickstart.json'), {
    control_url: controlUrl,
    base_url: baseUrl,
    dashboard_url: `${controlOrigin}/`,
    inference_key: account.inferenceKey,
    management_key: account.managementKey,
    email: account.email,
    password: account.password,
  });
  const envFile = join(dataDir, 'env');
  await keepText(
    envFile,
    shellExports({
      BASE_URL: baseUrl,
      CONTROL_URL: controlUrl,
      INFERENCE_KEY: account.inferenceKey,
      MANAGEMENT_KEY: account.managementKey,
      EMAIL: account.email,
      PASSWORD: account.password,
    }),
  );
  return banner(facts, envFile);
}

const shellExports = (variables: Readonly<Record<string, string>>): string =>
  Object.entries(variables)
    .map(([name, value]) => `export ${name}=${quoted(value)}\n`)
    .join('');

/** A word of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function banner(facts: QuickstartFacts, envFile: string): string {
  const { controlOrigin, confidentialOrigin, account, oneProcess, model: served } = facts;
  const model = served ?? '/auto';
  const body = `{"model":"${model}","messages":[{"role":"user","content":"Hello"}]}`;
  const fromHere = relative(process.cwd(), envFile);
  const shown = fromHere.startsWith('..') ? envFile : fromHere;
  return [
    '',
    'Sotto is running.',
    '',
    `  Dashboard            ${controlOrigin}/`,
    `    E-mail             ${account.email}`,
    `    Password           ${account.password}`,
    `  OpenAI base URL      ${confidentialOrigin}/v1`,
    `  API key              ${account.inferenceKey}`,
    `  Control URL          ${controlOrigin}/v1`,
    '',
    oneProcess
      ? 'Both planes run in ONE process, for evaluation only. Code separates identity from content, but memory does not.\nSet REDIS_URL to run two processes.'
      : 'The planes run as two processes.',
    ...modelLines(facts),
    '',
    'Try it in another terminal:',
    '',
    `  source ${/^[\w./-]+$/.test(shown) ? shown : quoted(shown)}`,
    '',
    'Compatibility mode. Any OpenAI client works, and the broker sees key and content together:',
    '',
    `  curl "$BASE_URL/chat/completions" -H "authorization: Bearer $INFERENCE_KEY" -H 'content-type: application/json' -d '${body}'`,
    '',
    'Private flow. Only control sees the key, and only the broker sees the content:',
    '',
    `  TICKET=$(curl -sS "$CONTROL_URL/inference/tickets" -H "authorization: Bearer $INFERENCE_KEY" -H 'content-type: application/json' -d '{"model":"${model}"}' | sed -n -e 's/.*"ticket":"\\([^"]*\\)".*/\\1/p' -e t -e 'w /dev/stderr')`,
    `  curl "$BASE_URL/chat/completions" -H "x-router-ticket: $TICKET" -H 'content-type: application/json' -d '${body}'`,
    '',
    'Press Ctrl-C to stop.',
    '',
  ].join('\n');
}

/** Says which models answer, which do not, and how to change that. */
function modelLines({
  hasDemo,
  model,
  auto,
  localLines,
  looksAgain,
  hasOwnRegistry,
  withoutKey,
}: QuickstartFacts): string[] {
  const unset = withoutKey.filter(({ hasOwnSecret }) => !hasOwnSecret);
  const keys = unset.map(({ variable }) => variable);
  return [
    ...localLines,
    ...(looksAgain ? [`To look for local models again: kill -HUP ${process.pid}`] : []),
    ...(hasDemo
      ? ['The demo provider runs on this machine. It is not a language model: it repeats what you say.']
      : []),
    ...withoutKey
      .filter(({ hasOwnSecret }) => hasOwnSecret)
      .map(
        ({ id, variable }) =>
          `\`${id}\` has no key: ${variable} ${ownSecretProblem}. Set the provider's key, or unset it.`,
      ),
    ...(model === undefined ? ['No model can answer yet: no provider has its key.'] : []),
    ...(auto === 'only_anonymous'
      ? [
          'All providers with a key are `anonymous`, and `/auto` allows `private` and stronger ones: it refuses until you allow them',
          'in the dashboard (Routing, Auto router, allowed tiers: Standard). Requests that name a model work.',
        ]
      : []),
    ...(hasOwnRegistry
      ? unset.map(({ id, variable }) => `\`${id}\` has no key: set ${variable} and start again.`)
      : keys.length > 0
        ? [`To use a real provider, set its key and start again: ${keys.join(', ')}.`]
        : []),
  ];
}
