import { randomBytes } from 'node:crypto';

/** What every marker of this run begins with: to look for it is to look for all of them. */
export const stem = `canary${randomBytes(6).toString('hex')}`;

/** Letters that no JSON, URL or log line changes, and that stand nowhere by chance. */
export const marker = (name: string): string => `${stem}${name.toLowerCase()}${randomBytes(9).toString('hex')}`;

const contentNames = [
  'Prompt',
  'System',
  'Developer',
  'PastAnswer',
  'PastToolArguments',
  'ToolResult',
  'ToolDescription',
  'ToolSchema',
  'Schema',
  'Stop',
  'User',
  'Name',
  'Image',
  'Parameter',
  'UnknownField',
  'Embedding',
  'Picture',
  'Speech',
  'Malformed',
  'QueryString',
  'UserAgent',
  'Header',
  'Path',
  'Model',
] as const;
const providerNames = [
  'Answer',
  'Painted',
  'Spoken',
  'Reasoning',
  'ToolArguments',
  'Refusal',
  'ErrorMessage',
  'ErrorCode',
  'ErrorParam',
  'ErrorText',
  'MidStream',
  'ProviderId',
  'ProviderHeader',
] as const;

/** What clients send, by where they put it. */
export const content = Object.fromEntries(contentNames.map((name) => [name, marker(name)])) as Record<
  (typeof contentNames)[number],
  string
>;
/** What providers answer, by where they put it. */
export const said = Object.fromEntries(providerNames.map((name) => [name, marker(name)])) as Record<
  (typeof providerNames)[number],
  string
>;

/** Of a person: control's to know and to keep, and nobody else's. */
export const personName = `person${randomBytes(9).toString('hex')}`;
export const email = `${personName}@example.test`;

/** From where the person signs in, as the proxy in front of control says it. */
export const addresses = { ipv4: '198.51.100.217', ipv6: '2001:db8:ca9a:12ab:9:8:7:6' } as const;
