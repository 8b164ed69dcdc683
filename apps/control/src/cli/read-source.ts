import { readFile } from 'node:fs/promises';
import { CliError, type CliProcess, UsageError } from './cli-process.ts';

const patienceMs = 30_000;
const maxBytes = 64 * 1024 * 1024;
const loopbackHosts = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * The text of a file, of a URL, or with `-` of the standard input. `keyVariable` names the environment variable whose
 * key a URL is asked with.
 */
export async function readSource(
  context: CliProcess,
  source: string,
  keyVariable: string | boolean | undefined,
): Promise<string> {
  if (source === '-') return context.readInput();
  if (/^https?:\/\//i.test(source)) return fetchText(source, keyOf(context, keyVariable));
  return readFile(source, 'utf8').catch(() => {
    throw new CliError(`${source} cannot be read`);
  });
}

function keyOf({ environment }: CliProcess, variable: string | boolean | undefined): string | undefined {
  if (variable === undefined) return undefined;
  if (typeof variable !== 'string') throw new UsageError('--api-key-env takes the name of an environment variable');
  const key = environment[variable];
  if (!key) throw new CliError(`${variable}, which --api-key-env names, is not set`);
  return key;
}

async function fetchText(address: string, key: string | undefined): Promise<string> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || (url.protocol === 'http:' && !loopbackHosts.has(url.hostname))) {
    throw new CliError('the address must be https: plain http is for loopback only');
  }
  const shown = `${url.origin}${url.pathname}`;
  const answer = await fetch(url, {
    headers: { accept: 'application/json', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
    signal: AbortSignal.timeout(patienceMs),
  }).catch(() => {
    throw new CliError(`${shown} cannot be reached`);
  });
  if (!answer.ok) {
    const hint = answer.status === 401 || answer.status === 403 ? ': name its key with --api-key-env' : '';
    throw new CliError(`${shown} answered ${answer.status}${hint}`);
  }
  let body = '';
  let bytes = 0;
  const decoder = new TextDecoder();
  try {
    for await (const chunk of answer.body ?? []) {
      bytes += chunk.length;
      if (bytes > maxBytes) break;
      body += decoder.decode(chunk, { stream: true });
    }
  } catch {
    throw new CliError(`${shown} broke off its answer`);
  }
  if (bytes > maxBytes) throw new CliError(`${shown} answered more than ${maxBytes / 1024 / 1024} MB`);
  return body + decoder.decode();
}
