import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { checkCatalog, importModels, writeCatalog } from '@sotto/router';
import { privacyClassSchema, providerIdSchema } from '@sotto/wire';
import { z } from 'zod';
import { CliError, type CliProcess, UsageError } from './cli-process.ts';
import { readSource } from './read-source.ts';
import { today } from './today.ts';

type Option = string | boolean | undefined;
export type ImportValues = Readonly<Record<string, Option>>;

const tokens = /^[1-9]\d{0,8}$/;
const price = /^\d{1,6}(\.\d{1,6})?$/;

/**
 * Writes a catalog file from a provider's own list of models (OpenAI-shaped, or OpenRouter's), and says what it left
 * out. The same list makes the same file; one that is there and differs is not touched without `--force`.
 */
export async function catalogImport(
  context: CliProcess,
  source: string | undefined,
  values: ImportValues,
): Promise<number> {
  const usage = 'catalog import takes a file, a URL or `-`, and --provider with the id of the provider in the registry';
  if (source === undefined) throw new UsageError(usage);
  const provider = ofShape(values.provider, providerIdSchema, usage);
  const asOf = ofShape(values['as-of'] ?? today(), z.iso.date(), '--as-of takes a date such as 2026-01-31');
  const privacyClass = ofShape(
    values['privacy-class'] ?? 'anonymous',
    privacyClassSchema,
    `--privacy-class takes ${privacyClassSchema.options.join(', ')}`,
  );
  const creator = ofShape(
    values.creator ?? provider.split('/')[0],
    z.string().regex(/^[\w.-]{1,100}$/),
    '--creator takes the first half of model ids, such as `openai`',
  );
  const out = values.out;
  if (typeof out === 'boolean') throw new UsageError('--out takes a file');
  const otherwise = {
    contextLength: numberOf(values['context-length'], tokens, '--context-length takes a number of tokens'),
    input: numberOf(values['input-price'], price, '--input-price takes USD per million tokens, up to six decimals'),
    output: numberOf(values['output-price'], price, '--output-price takes USD per million tokens, up to six decimals'),
  };

  const list = parseJson(await readSource(context, source, values['api-key-env']), source);
  const imported = importModels(list, { provider, creator, privacyClass, asOf, otherwise });
  if (imported === undefined) {
    throw new CliError(
      `${shown(source)} is no list of models: it takes {"data": [{"id": ...}, ...]} or [{"id": ...}, ...]`,
    );
  }
  const { file, leftOut } = imported;
  for (const { id, reason } of leftOut) context.error(`left out: ${id}: ${reason}`);
  if (file.models.length === 0) throw new CliError('no model of the list can be taken over; nothing was written');
  const text = writeCatalog(file, headOf(source, provider));
  const { problems } = checkCatalog(text, undefined, asOf);
  if (problems.length > 0) {
    throw new Error(`made a catalog that does not pass its own check: ${problems[0]?.message}`);
  }
  const counted = `${file.models.length} models, ${leftOut.length} left out`;
  if (out === undefined) {
    context.out(text.trimEnd());
    context.error(counted);
  } else {
    const written = await writeOnce(out, text, values.force === true);
    context.out(`${out}: ${counted}${written ? '' : ', as it was'}`);
  }
  return 0;
}

/** What stands above the models. A file's name is left out: it says nothing to the next reader. */
const headOf = (source: string, provider: string): string =>
  `Models of ${provider}, made by \`sotto-control catalog import\`${isUrl(source) ? ` from ${shown(source)}` : ''}.\n` +
  'Prices in USD per million tokens. What the list did not say of a model is not offered.';

/** Writes a file unless it is there: true where it was written, false where it was already so. */
async function writeOnce(path: string, text: string, force: boolean): Promise<boolean> {
  const before = await readFile(path, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new CliError(`${path} cannot be read`);
  });
  if (before === text) return false;
  if (before !== undefined && !force) throw new CliError(`${path} is there and differs: --force replaces it`);
  try {
    await mkdir(dirname(path), { recursive: true });
    // In one step, so that a control that reads the file again never finds half of it.
    const draft = `${path}.${process.pid}.tmp`;
    await writeFile(draft, text, { flag: 'wx' });
    await rename(draft, path);
  } catch {
    throw new CliError(`${path} cannot be written`);
  }
  return true;
}

function ofShape<Value>(given: unknown, schema: z.ZodType<Value>, otherwise: string): Value {
  const read = schema.safeParse(given);
  if (!read.success) throw new UsageError(otherwise);
  return read.data;
}

function numberOf(given: Option, pattern: RegExp, otherwise: string): number | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== 'string' || !pattern.test(given)) throw new UsageError(otherwise);
  return Number(given);
}

function parseJson(text: string, source: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CliError(`${shown(source)} is no JSON`);
  }
}

const isUrl = (source: string): boolean => /^https?:\/\//i.test(source) && URL.canParse(source);

/** A source without what may be secret in an address. */
function shown(source: string): string {
  if (!isUrl(source)) return source;
  const { origin, pathname } = new URL(source);
  return `${origin}${pathname}`;
}
