import { nusdToUsd } from '@sotto/money';
import {
  bestOfBand,
  explainChoice,
  explainPlan,
  holdOf,
  measureChat,
  parseCatalog,
  publicRegistry,
  readPreferences,
  requestedOutputTokens,
  routingOf,
} from '@sotto/router';
import {
  chatRequestSchema,
  initialPreferences,
  type Preferences,
  parseJson,
  parseRequest,
  ServiceError,
} from '@sotto/wire';
import { builtInCatalog, builtInCatalogText, parseRegistryText } from '../catalog/built-in-files.ts';
import { CliError, type CliProcess, type Option, readText, UsageError } from './cli-process.ts';

/**
 * Prints how a chat request in a file would be routed and why, with the function that routes requests. It assumes that
 * every route is healthy and none is measured.
 */
export async function explain(
  context: CliProcess,
  file: string | undefined,
  options: { readonly catalog: Option; readonly registry: Option; readonly preferences: Option },
): Promise<number> {
  if (file === undefined || typeof options.registry !== 'string') {
    throw new UsageError('explain needs a file with a chat request, and --registry FILE');
  }
  const catalogFile = typeof options.catalog === 'string' ? options.catalog : builtInCatalog;
  const preferences =
    typeof options.preferences === 'string' ? await readPreferencesFile(options.preferences) : initialPreferences;
  const chat = await readChat(file);
  const ceiling = requestedOutputTokens(chat);
  if (ceiling === 'conflict')
    throw new CliError('`max_tokens` and `max_completion_tokens` differ; send only one of them');
  const { needs, size } = measureChat(chat, ceiling);
  const planning = {
    catalog: await readCatalog(catalogFile, options.registry),
    preferences,
    status: { measurements: new Map(), penalized: () => false },
    random: bestOfBand,
  };
  const { decision, attempts, excluded } = explainPlan(chat, needs, planning);
  if (decision.ok) {
    const [first] = attempts;
    const routing = first === undefined ? 'exact' : routingOf(decision.value, first);
    context.out(`routing: ${routing}, sort ${decision.value.policy.sort}, floor ${decision.value.policy.floor}`);
    const choice = explainChoice(decision.value, needs, planning);
    if (choice !== undefined) context.out(`choice: ${choice.text}`);
    const shares = new Set(decision.value.shares.map(({ id }) => id));
    for (const [at, { id, privacyClass }] of attempts.entries()) {
      context.out(`${at + 1}. ${id} (${privacyClass}${shares.has(id) ? ', shares traffic' : ''})`);
    }
    context.out(`hold: ${nusdToUsd(holdOf(attempts, size))} USD`);
  } else context.out(`refused: ${decision.refusal.type}: ${decision.refusal.message}`);
  for (const { route, rule, message } of excluded) context.out(`not ${route.id} [${rule}]: ${message}`);
  return decision.ok ? 0 : 1;
}

async function readChat(file: string) {
  try {
    return parseRequest(chatRequestSchema, await readJson(file));
  } catch (error) {
    throw error instanceof ServiceError ? new CliError(`${file}: ${error.message}`) : error;
  }
}

async function readPreferencesFile(file: string): Promise<Preferences> {
  const sent = await readJson(file);
  try {
    const read = readPreferences(sent);
    if (read.ok) return read.value;
    throw new CliError(`${file}: ${read.refusal.message}`);
  } catch (error) {
    throw error instanceof ServiceError ? new CliError(`${file}: ${error.message}`) : error;
  }
}

async function readCatalog(catalogFile: string, registryFile: string) {
  const registry = parseRegistryText(await readText(registryFile));
  if (!registry.ok)
    throw new CliError(`${registryFile}:${registry.problems[0]?.line}: ${registry.problems[0]?.message}`);
  const wholeRegistry = publicRegistry(registry.value, () => true);
  const parsed = parseCatalog(
    await readText(catalogFile),
    wholeRegistry,
    { version: 1, digest: '' },
    builtInCatalogText(),
  );
  if (!parsed.ok) throw new CliError(`${catalogFile}:${parsed.problems[0]?.line}: ${parsed.problems[0]?.message}`);
  return parsed.value.catalog;
}

async function readJson(file: string): Promise<unknown> {
  const value = parseJson(await readText(file));
  if (value === undefined) throw new CliError(`${file} is not JSON`);
  return value;
}
