import type { Imported } from '@sotto/router';
import { isOwnSecret, ownSecretProblem, type PrivacyClass, privacyClassSchema } from '@sotto/wire';
import type * as z from 'zod';
import { counted } from '../counted.ts';
import { CliError, type CliProcess, type Option, readText, UsageError } from './cli-process.ts';

const timeoutMs = 30_000;
const maxBytes = 64 * 1024 * 1024;
export const loopbackHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Reads the text of a file, of a URL or, with `-`, of standard input. `keyVariable` names the environment variable that
 * contains the API key for a URL.
 */
export async function readSource(context: CliProcess, source: string, keyVariable: Option): Promise<string> {
  if (source === '-') return context.readInput();
  if (isUrl(source)) return fetchText(source, keyOf(context, keyVariable));
  return readText(source);
}

/** Returns the key in the environment variable that `--api-key-env` names. */
export function keyOf({ environment }: CliProcess, variable: Option): string | undefined {
  if (variable === undefined) return undefined;
  if (typeof variable !== 'string') throw new UsageError('--api-key-env must be the name of an environment variable');
  const key = environment[variable];
  if (!key) throw new CliError(`--api-key-env names ${variable}, which is not set`);
  if (isOwnSecret(key)) throw new CliError(`--api-key-env names ${variable}, which ${ownSecretProblem}`);
  return key;
}

/** Fetches the text at an address, with a key if there is one. `plain`: also over http to other machines. Throws a `CliError` that says what the server answered. */
export async function fetchText(
  address: string,
  key: string | undefined,
  { plain = false }: { readonly plain?: boolean } = {},
): Promise<string> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || (url.protocol === 'http:' && !plain && !loopbackHosts.has(url.hostname))) {
    throw new CliError('the address must begin with https://; plain http works only on loopback');
  }
  const shown = `${url.origin}${url.pathname}`;
  const answer = await fetch(url, {
    headers: { accept: 'application/json', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
    signal: AbortSignal.timeout(timeoutMs),
  }).catch(() => {
    throw new CliError(`cannot reach ${shown}`);
  });
  if (!answer.ok) {
    const hint = answer.status === 401 || answer.status === 403 ? '; pass its key with --api-key-env' : '';
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
    throw new CliError(`${shown} ended its answer early`);
  }
  if (bytes > maxBytes) throw new CliError(`${shown} answered more than ${maxBytes / 1024 / 1024} MB`);
  return body + decoder.decode();
}

export const isUrl = (source: string): boolean => /^https?:\/\//i.test(source) && URL.canParse(source);

/** Returns a source without the parts of a URL that may be secret. */
export function shown(source: string): string {
  if (!isUrl(source)) return source;
  const { origin, pathname } = new URL(source);
  return `${origin}${pathname}`;
}

export type ImportValues = Readonly<Record<string, Option>>;

const tokens = /^[1-9]\d{0,8}$/;
const price = /^\d{1,6}(\.\d{1,6})?$/;

/** The facts that options give for every model. Prices in USD per million tokens. */
export const factsOf = (values: ImportValues) => ({
  contextLength: numberOf(values['context-length'], tokens, '--context-length must be a number of tokens'),
  input: numberOf(
    values['input-price'],
    price,
    '--input-price must be USD per million tokens, with at most six decimals',
  ),
  output: numberOf(
    values['output-price'],
    price,
    '--output-price must be USD per million tokens, with at most six decimals',
  ),
});

/** Tells which models of a list were not imported, and how many prices were replaced. Returns the former. */
export function tellOfImport({ error }: CliProcess, { leftOut, repriced }: Imported): Imported['leftOut'] {
  for (const { id, reason } of leftOut) error(`left out: ${id}: ${reason}`);
  if (repriced > 0) error(`the given prices replace those of the list for ${counted(repriced, 'model')}`);
  return leftOut;
}

/** Parses an option, or throws a `UsageError` that says what it takes. */
export function parseOption<Value>(given: unknown, schema: z.ZodType<Value>, otherwise: string): Value {
  const read = schema.safeParse(given);
  if (!read.success) throw new UsageError(otherwise);
  return read.data;
}

export const privacyClassOf = (values: ImportValues, otherwise: PrivacyClass): PrivacyClass =>
  parseOption(
    values['privacy-class'] ?? otherwise,
    privacyClassSchema,
    `--privacy-class must be one of ${privacyClassSchema.options.join(', ')}`,
  );

function numberOf(given: Option, pattern: RegExp, otherwise: string): number | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== 'string' || !pattern.test(given)) throw new UsageError(otherwise);
  return Number(given);
}
