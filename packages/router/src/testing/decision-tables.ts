import { type Preferences, preferencesSchema, privacyClasses, providerPolicySchema, requestError } from '@sotto/wire';
import { parse } from 'yaml';
import * as z from 'zod';
import type { Catalog, Model, Route } from '../catalog/catalog.ts';
import type { RouteMeasurement } from '../health/measurement.ts';
import { attemptsOf, planRequest } from '../plan/plan-request.ts';
import { aCatalog, aModel, contextOf, needing, type RouteSketch } from './fixtures.ts';

/** One row of a table of decisions, with the catalog above it. */
export interface Example {
  /** The headings above it, outermost first. */
  readonly section: string;
  /** Its line in the document, counted from 1. */
  readonly line: number;
  readonly cells: { readonly request: string; readonly workspace: string; readonly meanwhile: string };
  /** Attempts in order, separated by ` > `. ` ~ ` separates those that share traffic. Or `refused: <error type>`. */
  readonly decision: string;
  readonly catalog: Catalog;
}

/**
 * Reads the tables of a Markdown document. A table that begins with `model` is the catalog for the tables after it. A
 * table that begins with `request` holds decisions. Other tables and text are only for readers.
 */
export function readExamples(markdown: string): Example[] {
  const examples: Example[] = [];
  const headings: string[] = [];
  let catalog: Catalog | undefined;
  for (const { line, heading, rows } of blocksOf(markdown)) {
    if (heading !== undefined) headings.splice(heading.depth - 2, headings.length, heading.text);
    const [header, , ...body] = rows;
    if (header?.[0] === 'model') catalog = readCatalog(header, body);
    if (header?.[0] !== 'request') continue;
    if (catalog === undefined) throw new Error(`line ${line}: no catalog stands above this table`);
    for (const [index, cells] of body.entries()) {
      const named = Object.fromEntries(header.map((name, column) => [name, cells[column] ?? '']));
      const { request = '', workspace = '', meanwhile = '', decision = '' } = named;
      examples.push({
        section: headings.join(' / '),
        line: line + index + 2,
        cells: { request, workspace, meanwhile },
        decision,
        catalog,
      });
    }
  }
  return examples;
}

interface Block {
  readonly line: number;
  readonly heading: { readonly depth: number; readonly text: string } | undefined;
  readonly rows: readonly (readonly string[])[];
}

function* blocksOf(markdown: string): Iterable<Block> {
  let table: { line: number; rows: string[][] } | undefined;
  for (const [index, text] of [...markdown.split('\n'), ''].entries()) {
    if (text.startsWith('|')) {
      table ??= { line: index + 1, rows: [] };
      table.rows.push(cellsOf(text));
      continue;
    }
    if (table !== undefined) yield { ...table, heading: undefined };
    table = undefined;
    const [, marks, title] = /^(#{2,4}) (.+)$/.exec(text) ?? [];
    if (marks !== undefined && title !== undefined) {
      yield { line: index + 1, heading: { depth: marks.length, text: title }, rows: [] };
    }
  }
}

const cellsOf = (row: string): string[] =>
  row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('`', ''));

const routeRow = z.strictObject({
  model: z.string(),
  provider: z.string().regex(/^[a-z0-9/-]+( \(other\))?$/),
  tier: z.enum(privacyClasses),
  /** USD per million tokens. */
  input: z.coerce.number(),
  output: z.coerce.number(),
  /** A cached prompt token, where it is cheaper. */
  cached: z.string().optional(),
  offers: z.string().optional(),
  window: z.string().optional(),
  longest: z.string().optional(),
});

function readCatalog(header: readonly string[], rows: readonly (readonly string[])[]): Catalog {
  const sketches = new Map<string, RouteSketch[]>();
  for (const [rank, cells] of rows.entries()) {
    const row = routeRow.parse(Object.fromEntries(header.map((name, column) => [name, cells[column] ?? ''])));
    const offers = (row.offers ?? '').split(',').map((name) => name.trim());
    const efforts = offers.filter((name) => name.startsWith('effort ')).map((name) => name.slice(7));
    const canDisable = offers.includes('thinking off');
    const known = ['', 'tools', 'vision', 'schema', 'thinking off', 'thinking'];
    for (const name of offers) {
      if (!known.includes(name) && !name.startsWith('effort ')) throw new Error(`unknown offer: ${name}`);
    }
    const reasons = efforts.length > 0 || canDisable || offers.includes('thinking');
    const sketch: RouteSketch = {
      provider: row.provider.replace(' (other)', ''),
      unlisted: row.provider.endsWith('(other)'),
      privacy: row.tier,
      input: row.input,
      output: row.output,
      price: row.cached ? { cachedInput: Number(row.cached) * 1e6 } : {},
      capabilities: {
        tools: offers.includes('tools'),
        vision: offers.includes('vision'),
        structuredOutput: offers.includes('schema'),
        ...(reasons ? { reasoning: { efforts, canDisable } } : {}),
      },
      contextLength: row.window ? Number(row.window) : undefined,
      maxOutputTokens: row.longest ? Number(row.longest) : undefined,
      rank,
    };
    sketches.set(row.model, [...(sketches.get(row.model) ?? []), sketch]);
  }
  return aCatalog(...[...sketches].map(([id, routes]): Model => aModel(id, routes)));
}

const requestCell = z.strictObject({
  model: z.string().optional(),
  models: z.array(z.string()).optional(),
  provider: z.unknown().optional(),
  tools: z.literal(true).optional(),
  images: z.literal(true).optional(),
  schema: z.literal(true).optional(),
  json: z.literal(true).optional(),
  effort: z.string().optional(),
  thinking: z.literal(false).optional(),
  prompt: z.number().optional(),
  max_tokens: z.number().optional(),
  encrypted: z.literal(true).optional(),
});

const measurementCell = z.strictObject({
  requests: z.number().default(100),
  success: z.number().default(1),
  ttft: z.number().optional(),
  speed: z.number().optional(),
});

const meanwhileCell = z.strictObject({
  penalized: z.array(z.string()).default([]),
  measured: z.record(z.string(), measurementCell).default({}),
});

/** Makes the decision of an example, and writes it in the notation of the document. */
export function decisionOf({ cells, catalog }: Example): string {
  const { model, models, provider, ...body } = requestCell.parse(mappingOf(cells.request));
  const policy = providerPolicySchema.nullish().safeParse(provider);
  if (!policy.success) return `refused: ${typeOfError(provider)}`;
  const preferences = preferencesSchema.partial().parse(mappingOf(cells.workspace)) as Partial<Preferences>;
  const { penalized, measured } = meanwhileCell.parse(mappingOf(cells.meanwhile));
  const routes = [...catalog.models.values()].flatMap((each) => each.routes);
  const isNamed = (name: string, route: Route): boolean => name === route.providerId || name === route.id;
  for (const name of [...penalized, ...Object.keys(measured)]) {
    if (!routes.some((route) => isNamed(name, route))) throw new Error(`no route of ${name}`);
  }
  const measurements = new Map<string, RouteMeasurement>();
  for (const [name, { requests, success, ttft, speed }] of Object.entries(measured)) {
    for (const route of routes.filter((each) => isNamed(name, each))) {
      measurements.set(route.id, {
        requests,
        successes: Math.round(requests * success),
        ttftMs: ttft,
        tokensPerSecond: speed,
      });
    }
  }
  const [firstModel] = catalog.models.keys();
  const needs = needing({
    tools: body.tools ?? false,
    vision: body.images ?? false,
    structuredOutput: body.schema ?? false,
    optionalParameters: body.json ? ['response_format'] : [],
    reasoningEffort: body.effort,
    reasoningDisabled: body.thinking === false,
    promptTokens: body.prompt ?? 0,
    maxOutputTokens: body.max_tokens,
    encrypted: body.encrypted ?? false,
  });
  const status = {
    measurements,
    penalized: (route: Route) => penalized.some((name) => isNamed(name, route)),
  };
  const request = { model: model ?? firstModel ?? '', models, provider: policy.data };
  const name = (route: Route): string => (catalog.models.size > 1 ? route.id : route.providerId);
  const orders = draws.map((random) => {
    const decision = planRequest(request, needs, contextOf(catalog, { preferences, status, random: () => random }));
    return decision.ok ? attemptsOf(decision.value).map(name) : `refused: ${decision.refusal.type}`;
  });
  return summaryOf(orders);
}

/** Random numbers that select each of up to four sharing routes equally often. */
const draws = Array.from({ length: 12 }, (_, index) => (index + 0.5) / 12);

/**
 * One line for the orders of all draws. Routes that take turns at the front are joined by `~`, in the order of the best
 * draw.
 */
function summaryOf(orders: readonly (readonly string[] | string)[]): string {
  const [first] = orders;
  if (first === undefined || typeof first === 'string') return first ?? '';
  const lists = orders.map((order) => {
    if (typeof order === 'string') throw new Error('a plan hangs on chance');
    return order;
  });
  const leaders = Map.groupBy(lists, ([leader]) => leader ?? '');
  for (const [leader, { length }] of leaders) {
    if (length !== lists.length / leaders.size)
      throw new Error(`${leader} goes first ${length} times of ${lists.length}`);
  }
  const sharing = [...leaders.keys()];
  return [sharing.join(' ~ '), ...first.filter((name) => !sharing.includes(name))]
    .filter((part) => part !== '')
    .join(' > ');
}

/** The API's error type for a policy that its schema refuses. */
function typeOfError(provider: unknown): string {
  const body = z.object({ provider: providerPolicySchema.nullish() }).safeParse({ provider });
  if (body.success) throw new Error('only the policy alone is refused');
  return requestError(body.error).type;
}

const mappingOf = (cell: string): unknown => parse(`{${cell}}`);
