import type { Documents } from './documents.ts';

/** The public addresses of a deployment, without a path. */
export interface Addresses {
  readonly controlOrigin: string;
  readonly confidentialOrigin: string;
}

export const skillPath = '/skills/sotto/SKILL.md';
export const serverPath = '/v1/docs/mcp';
/** The page of the documentation that is the skill's text. */
const skillPage = 'tools/agent-skill';

/** The address of a page as Markdown: that of the guide in the dashboard, with `.md`. */
export const markdownPath = (page: string): string => `/guides/${page}.md`;

/** Returns the documentation's files by their paths: Markdown of each page, `/llms.txt` and the skill. */
export function publicFiles(documents: Documents, addresses: Addresses): ReadonlyMap<string, string> {
  const skill = documents.at(skillPage);
  return new Map([
    ...documents.pages.map(({ path, text }) => [markdownPath(path), withAddresses(text, addresses)] as const),
    ['/llms.txt', llmsTxt(documents, addresses)],
    ...(skill === undefined ? [] : [[skillPath, skillFile(skill.text, addresses)] as const]),
  ]);
}

/** The list of pages for programs, in the form of https://llmstxt.org. */
function llmsTxt({ sections }: Documents, { controlOrigin, confidentialOrigin }: Addresses): string {
  const sectionText = ({ title, pages }: Documents['sections'][number]): string =>
    `## ${title}\n\n${pages
      .map(
        ({ path, title: name, summary }) =>
          `- [${name}](${controlOrigin}${markdownPath(path)})${summary === '' ? '' : `: ${summary}`}`,
      )
      .join('\n')}`;
  return `${[
    '# Sotto',
    '> A gateway to AI models that keeps who asks apart from what is asked. Its API is that of OpenAI.',
    `The control origin ${controlOrigin} has accounts, keys and the catalog. The confidential origin ${confidentialOrigin} takes prompts. Each describes itself by OpenAPI at /v1/openapi.json.`,
    `- [Skill](${controlOrigin}${skillPath}): teaches a coding agent to use this deployment.\n- [Documentation server](${controlOrigin}${serverPath}): the same pages by MCP (streamable HTTP, no account).`,
    ...sections.map(sectionText),
  ].join('\n\n')}\n`;
}

/** The skill in the form of https://agentskills.io: what it is for, then the page with the addresses of this deployment. */
const skillFile = (text: string, addresses: Addresses): string => `---
name: sotto
description: Set up and use the Sotto deployment at ${addresses.confidentialOrigin} (chat completions in OpenAI's form, private by tickets). Use it when a program, SDK or coding agent shall send requests to models through Sotto, or when an answer of Sotto is an error.
---

${withAddresses(text, addresses)}`;

/** Puts the addresses of this deployment in place of those of the examples. */
const withAddresses = (text: string, { controlOrigin, confidentialOrigin }: Addresses): string =>
  text
    .replaceAll(/https:\/\/control\.example\.com(?![\w.])/g, controlOrigin)
    .replaceAll(/https:\/\/api\.example\.com(?![\w.])/g, confidentialOrigin);
