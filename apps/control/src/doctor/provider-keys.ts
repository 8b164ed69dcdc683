import { keysOf } from '@sotto/router';
import { readFileOrPart } from '@sotto/server';
import { isOwnSecret } from '@sotto/wire';
import { parseRegistryText } from '../catalog/built-in-files.ts';
import { type Finding, warning, wrong } from './check.ts';

/** A provider that has not answered within this time is not examined further. */
const answerMs = 5_000;

/** How each API takes its key, for those that list models for a key. */
const carriers: Readonly<Record<string, (key: string) => Readonly<Record<string, string>>>> = {
  openai: (key) => ({ authorization: `Bearer ${key}` }),
  anthropic: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
  google: (key) => ({ 'x-goog-api-key': key }),
};

/**
 * Asks each provider of a registry file for its models, with the key that this environment has, and names those that refuse it. A broker
 * usually has its keys for itself; then there is nothing to ask with.
 */
export async function examineKeysAtProviders(
  registryFile: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Finding[]> {
  const text = registryFile === undefined ? undefined : await readFileOrPart(registryFile).catch(() => undefined);
  const read = text === undefined ? undefined : parseRegistryText(text.toString('utf8'));
  const found = await Promise.all(
    (read?.ok === true ? read.value.providers : []).flatMap((provider) =>
      keysOf(provider).map(async ({ env: variable }) => {
        const { id, adapter, base_url: base } = provider;
        const key = environment[variable];
        const headers = key && !isOwnSecret(key) ? carriers[adapter]?.(key) : undefined;
        return headers && refusalOf(id, variable, await statusAt(`${base}/models`, headers));
      }),
    ),
  );
  return found.filter((finding) => finding !== undefined);
}

function refusalOf(id: string, variable: string, status: number | undefined): Finding | undefined {
  const subject = 'provider keys';
  if (status === 401 || status === 403) {
    return wrong(subject, `\`${id}\` refuses the key in ${variable} (${status})`, 'Set a valid key, and start again.');
  }
  return status === 402
    ? warning(
        subject,
        `\`${id}\` says that the account of ${variable} has no balance (402)`,
        'Add balance at the provider.',
      )
    : undefined;
}

/** The status of the answer. Undefined without an answer. */
const statusAt = (url: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> =>
  fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(answerMs) }).then(
    async (answer) => {
      await answer.body?.cancel();
      return answer.status;
    },
    () => undefined,
  );
