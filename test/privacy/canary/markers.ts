import { hash, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { disguises, hashes } from './disguises.ts';

/** The prefix of every marker of this run. A search for it finds all markers. */
export const stem = `canary${randomBytes(6).toString('hex')}`;

/** Letters and digits that JSON, URLs and log lines leave unchanged, and that do not occur by chance. */
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

/** Markers that clients send, by place. */
export const content = Object.fromEntries(contentNames.map((name) => [name, marker(name)])) as Record<
  (typeof contentNames)[number],
  string
>;
/** Markers that providers answer with, by place. */
export const said = Object.fromEntries(providerNames.map((name) => [name, marker(name)])) as Record<
  (typeof providerNames)[number],
  string
>;

/** A person's name, which only control may know and keep. */
export const personName = `person${randomBytes(9).toString('hex')}`;
export const email = `${personName}@example.test`;

/** The person's addresses, as the proxy in front of control reports them. */
export const addresses = { ipv4: '198.51.100.217', ipv6: '2001:db8:ca9a:12ab:9:8:7:6' } as const;

/** The texts that identify a person at an address, and each plain hash of them: alone, or as the name of a counter. */
export function identities(
  email: string,
  { ipv4, ipv6 }: { readonly ipv4: string; readonly ipv6: string },
): Record<string, string[]> {
  const network = `${ipv6.split(':').slice(0, 4).join(':')}::/64`;
  const account = hash('sha256', email, 'hex');
  const texts = [email, ...[ipv4, ipv6, network].flatMap((from) => [from, `address:${from}`, `${from}:${account}`])];
  return Object.fromEntries(texts.map((text) => [text, [...disguises(text), ...hashes(text)]]));
}

/** The ids of all people, their workspaces and keys in a database, each with its forms. */
export async function idsIn(pool: pg.Pool): Promise<Record<string, string[]>> {
  const { rows } = await pool.query<{ id: string }>(
    `select id::text from accounts union select id::text from workspaces union select id::text from api_keys
     union select id from auth_user union select user_id from accounts where user_id is not null`,
  );
  return Object.fromEntries(
    rows.map(({ id }) => {
      const hex = id.replaceAll('-', '');
      const bytes = Buffer.from(hex, 'hex');
      const forms = [id, hex, bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')];
      return [id, forms.filter((form) => form.length > 8)];
    }),
  );
}

/** The forms of texts, each under its name. */
export const formsOf = (texts: Readonly<Record<string, string>>): Record<string, string[]> =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, disguises(text)]));

const textTool = {
  type: 'function',
  function: {
    name: 'look_up',
    description: `looks up ${content.ToolDescription}`,
    parameters: {
      type: 'object',
      properties: { [content.ToolSchema]: { type: 'string', enum: [content.ToolSchema] } },
    },
  },
};

/** A request with a marker wherever one can be. */
export const fullBody = (more: object = {}): { readonly model: string } & Record<string, unknown> => ({
  model: 'm/two',
  messages: [
    { role: 'system', content: `Be ${content.System}.` },
    { role: 'developer', content: content.Developer },
    // Resembles a stack frame, in case the service looks for one in the text.
    {
      role: 'user',
      content: `Say ${content.Prompt}\n    at ${content.Prompt} (${content.Prompt}:1:1)`,
      name: content.Name.slice(0, 64),
    },
    {
      role: 'assistant',
      content: content.PastAnswer,
      tool_calls: [
        {
          id: 'call_1',
          type: 'function',
          function: { name: 'look_up', arguments: `{"q":"${content.PastToolArguments}"}` },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: content.ToolResult },
    {
      role: 'user',
      content: [
        { type: 'text', text: content.Prompt },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${content.Image}` } },
      ],
    },
  ],
  tools: [textTool],
  stop: [content.Stop],
  user: content.User,
  max_completion_tokens: 200,
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { title: content.Schema } } },
  alpha_parameters: { bad_words: [content.Parameter] },
  metadata: { note: content.UnknownField },
  [content.UnknownField]: content.UnknownField,
  ...more,
});

export const media = {
  '/images/generations': { model: 'm/paint', prompt: `Paint ${content.Picture}`, user: content.User },
  '/audio/speech': { model: 'm/voice', input: `Say ${content.Speech}`, instructions: content.UnknownField },
} as const;
export const mediaPaths = ['/images/generations', '/audio/speech'] as const;
