import { checkCatalog, importModels, readPriceFile, writeCatalog } from '@sotto/router';
import { parseJson, providerIdSchema } from '@sotto/wire';
import * as z from 'zod';
import { counted } from '../counted.ts';
import { CliError, type CliProcess, readIfPresent, replaceFile, today, UsageError } from './cli-process.ts';
import {
  factsOf,
  type ImportValues,
  isUrl,
  parseOption,
  privacyClassOf,
  readSource,
  shown,
  tellOfImport,
} from './read-source.ts';

/**
 * Writes a catalog file from a provider’s own list of models (in OpenAI’s or OpenRouter’s shape), from models.dev’s `api.json` or from
 * LiteLLM’s price map, and reports which models it left out. The same list gives the same file. It replaces an existing, different file only with `--force`.
 */
export async function catalogImport(
  context: CliProcess,
  source: string | undefined,
  values: ImportValues,
): Promise<void> {
  const usage = 'catalog import needs a file, a URL or `-`, and --provider with the id of the provider in the registry';
  if (source === undefined) throw new UsageError(usage);
  const provider = parseOption(values.provider, providerIdSchema, usage);
  const asOf = parseOption(values['as-of'] ?? today(), z.iso.date(), '--as-of must be a date such as 2026-01-31');
  const privacyClass = privacyClassOf(values, 'anonymous');
  const creator = parseOption(
    values.creator ?? provider.split('/')[0],
    z.string().regex(/^[\w.-]{1,100}$/),
    '--creator must be the first half of model ids, such as `openai`',
  );
  const out = values.out;
  if (typeof out === 'boolean') throw new UsageError('--out must be a file');
  const given = factsOf(values);

  const list = parseJson(await readSource(context, source, values['api-key-env']));
  if (list === undefined) throw new CliError(`${shown(source)} is not JSON`);
  const prices = readPriceFile(list, asOf);
  const listed = parseOption(
    values['listed-as'] ?? provider,
    z.string(),
    '--listed-as must be the name that the file gives the provider',
  );
  if (prices !== undefined && !prices.providers.includes(listed)) {
    throw new CliError(
      `${shown(source)} (${prices.kind}) has no provider \`${listed}\`: name one with --listed-as. It has ${prices.providers.join(', ')}`,
    );
  }
  const ofProvider = prices?.modelsOf(listed);
  const read = importModels(ofProvider?.list ?? list, { provider, creator, privacyClass, asOf, given });
  const imported = read && { ...read, leftOut: [...(ofProvider?.leftOut ?? []), ...read.leftOut] };
  if (imported === undefined) {
    throw new CliError(
      `${shown(source)} is not a list of models; it must be {"data": [{"id": ...}, ...]}, [{"id": ...}, ...], models.dev's api.json or LiteLLM's price map`,
    );
  }
  const { file } = imported;
  const leftOut = tellOfImport(context, imported);
  if (file.models.length === 0) throw new CliError('no model of the list can be imported; nothing was written');
  const text = writeCatalog(file, fileHeader(source, provider));
  const { problems } = checkCatalog(text, undefined, asOf);
  if (problems.length > 0) {
    throw new Error(`made a catalog that does not pass its own check: ${problems[0]?.message}`);
  }
  const summary = `${counted(file.models.length, 'model')}, ${leftOut.length} left out`;
  if (out === undefined) {
    context.out(text.trimEnd());
    context.error(summary);
  } else {
    const before = await readIfPresent(out);
    const isSame = before === text;
    if (before !== undefined && !isSame && values.force !== true) {
      throw new CliError(`${out} exists and differs; replace it with --force`);
    }
    if (!isSame) await replaceFile(out, text);
    context.out(`${out}: ${summary}${isSame ? ', unchanged' : ''}`);
  }
}

/** The comment above the models. It omits the name of a local file, which means nothing to other readers. */
const fileHeader = (source: string, provider: string): string =>
  `Models of ${provider}, made by \`sotto-control catalog import\`${isUrl(source) ? ` from ${shown(source)}` : ''}.\n` +
  'Prices in USD per million tokens. A model has only the capabilities that the list states.';
