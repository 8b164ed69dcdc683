import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { errorNotes, errorTable } from '@sotto/wire';
import * as z from 'zod';
import { type ApiDocument, describedRoute, routesOf } from './described-route.ts';
import type { Documents } from './documents.ts';

export interface DocumentationSources {
  readonly documents: Documents;
  /** The Markdown of a page, by the page's path. */
  readonly markdownOf: (path: string) => string | undefined;
  readonly origins: Readonly<Record<'control' | 'confidential', () => ApiDocument>>;
}

/** Most pages that a search lists. */
const mostFound = 10;

/**
 * Returns the documentation server: it answers requests of the Model Context Protocol (streamable HTTP) about pages, errors and routes.
 * It only reads, knows no caller and keeps nothing between two requests.
 */
export function openMcp(sources: DocumentationSources): (request: Request, body: unknown) => Promise<Response> {
  const handler = createMcpHandler(() => serverOf(sources), {
    // A subscription would keep a connection open, and nothing here changes.
    maxSubscriptions: 0,
  });
  return (request, parsedBody) => handler.fetch(request, { parsedBody });
}

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });
const failure = (value: string) => ({ ...text(value), isError: true });
const readOnly = { annotations: { readOnlyHint: true, openWorldHint: false } } as const;

function serverOf({ documents, markdownOf, origins }: DocumentationSources): McpServer {
  const server = new McpServer({ name: 'sotto-documentation', version: '1' });
  server.registerTool(
    'list_pages',
    { description: 'List the pages of the documentation by section.', inputSchema: z.object({}), ...readOnly },
    async () =>
      text(
        documents.sections
          .map(
            ({ title, pages }) =>
              `${title}\n${pages.map(({ path, title: name, summary }) => `- ${path}: ${name}. ${summary}`).join('\n')}`,
          )
          .join('\n\n'),
      ),
  );
  server.registerTool(
    'search_pages',
    {
      description: 'Find the pages that contain all of these words.',
      inputSchema: z.object({ words: z.string().min(1).max(200) }),
      ...readOnly,
    },
    async ({ words }) => {
      const found = documents.search(words).slice(0, mostFound);
      return text(
        found.length === 0
          ? 'No page contains all of these words. Try fewer, or list_pages.'
          : found.map(({ page, line }) => `- ${page.path}: ${page.title}. ${line}`).join('\n'),
      );
    },
  );
  server.registerTool(
    'read_page',
    {
      description: 'Read a page as Markdown, with the addresses of this deployment.',
      inputSchema: z.object({ path: z.string().min(1).max(200).describe('As list_pages shows it: `use/billing`') }),
      ...readOnly,
    },
    async ({ path }) => {
      const page = markdownOf(path.replace(/\.md$/, ''));
      return page === undefined ? failure(`There is no page \`${path}\`. list_pages shows all.`) : text(page);
    },
  );
  server.registerTool(
    'explain_error',
    {
      description: 'Explain an error by its `type`: when the service answers so, and what to do.',
      inputSchema: z.object({ type: z.string().min(1).max(100) }),
      ...readOnly,
    },
    async ({ type }) => {
      const known = Object.keys(errorNotes).find((name): name is keyof typeof errorNotes => name === type);
      if (known === undefined)
        return failure(`There is no error \`${type}\`. There are ${Object.keys(errorNotes).join(', ')}.`);
      const { when, remedy } = errorNotes[known];
      return text(`${known} (HTTP ${errorTable[known].status}): ${when} ${remedy}`);
    },
  );
  const origin = z.enum(['control', 'confidential']);
  server.registerTool(
    'list_routes',
    {
      description: 'List the routes of the API. Prompts go to the confidential origin, everything else to control.',
      inputSchema: z.object({ origin }),
      ...readOnly,
    },
    async ({ origin: name }) =>
      text(
        routesOf(origins[name]())
          .map(({ route, summary }) => `- ${route}: ${summary}`)
          .join('\n'),
      ),
  );
  server.registerTool(
    'describe_route',
    {
      description: 'Describe one route by OpenAPI: its credentials, parameters, body, answers and errors.',
      inputSchema: z.object({
        origin,
        route: z.string().max(200).describe('As list_routes shows it: `GET /v1/models`'),
      }),
      ...readOnly,
    },
    async ({ origin: name, route }) => {
      const described = describedRoute(origins[name](), route);
      return described === undefined
        ? failure(`The ${name} origin has no route \`${route}\`. list_routes shows all.`)
        : text(JSON.stringify(described));
    },
  );
  return server;
}
