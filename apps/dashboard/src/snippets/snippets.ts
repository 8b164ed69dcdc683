import { agentSnippets, isHere } from './agent-snippets.ts';
import type { Snippet, SnippetFacts } from './snippet.ts';

/** What the broker sees of a request with a key. */
export const linkable = 'Compatibility mode: the broker sees key and content together while the request runs.';

/** Stands for the reader's key. */
export const keyPlaceholder = 'sotto_inf_YOUR_KEY';

/** First requests to copy: for a POSIX shell, the SDKs, and coding agents. */
export function makeSnippets(facts: SnippetFacts): readonly Snippet[] {
  const { controlOrigin, confidentialOrigin, key, model } = facts;
  const body = { model, messages: [{ role: 'user', content: 'Hello' }] };
  return [
    ticketSnippet({
      ...facts,
      path: '/chat/completions',
      text: 'Private flow: the key goes only to control, and the content only to the broker. A single-use ticket without a name pays for it. This does not verify the broker; the Sotto client does.',
      ticket: { model },
      body,
    }),
    {
      id: 'curl',
      name: 'curl',
      text: `Any OpenAI client works with this address and key. ${linkable}`,
      code: `curl ${confidentialOrigin}/v1/chat/completions \\
  -H 'authorization: Bearer ${key}' -H 'content-type: application/json' \\
  -d '${JSON.stringify(body)}'`,
    },
    {
      id: 'python',
      name: 'Python',
      text: `The OpenAI SDK for Python (pip install openai). ${linkable}`,
      code: `from openai import OpenAI

client = OpenAI(
    base_url="${confidentialOrigin}/v1",
    api_key="${key}",
)
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
    },
    {
      id: 'javascript',
      name: 'JavaScript',
      text: `The OpenAI SDK for JavaScript (npm install openai). ${linkable}`,
      code: `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: '${confidentialOrigin}/v1',
  apiKey: '${key}',
});
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(answer.choices[0].message.content);`,
    },
    ...agentSnippets(facts),
    {
      id: 'ai-sdk',
      name: 'AI SDK',
      text: `The Vercel AI SDK (npm install ai @ai-sdk/openai-compatible). ${linkable}`,
      code: `import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText } from 'ai';

const sotto = createOpenAICompatible({
  name: 'sotto',
  baseURL: '${confidentialOrigin}/v1',
  apiKey: '${key}',
});
const { text } = await generateText({ model: sotto('${model}'), prompt: 'Hello' });
console.log(text);`,
    },
    {
      id: 'client',
      name: 'Sotto client',
      isOther: true,
      text: 'Our client verifies the broker before it sends content, then uses the private flow for any OpenAI SDK.',
      code: `import OpenAI from 'openai';
import { createPrivateFetch } from '@sotto/client';

const client = new OpenAI({
  baseURL: '${confidentialOrigin}/v1',
  apiKey: 'unused: the client sends the key only to control',
  fetch: createPrivateFetch({
    apiKey: '${key}',
    controlOrigin: '${controlOrigin}',
    baseOrigin: '${confidentialOrigin}',${isHere(confidentialOrigin) ? '\n    allowSimulated: true,' : ''}
  }),
});
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(answer.choices[0].message.content);`,
    },
  ];
}

interface TicketSnippetFacts extends Omit<SnippetFacts, 'model'> {
  /** Without `/v1`. */
  readonly path: string;
  readonly text: string;
  readonly ticket: object;
  readonly body: object;
  /** Further options of the second call. */
  readonly more?: string;
}

/** A request by the private flow in a POSIX shell: a call for a ticket, then the call with the content. */
export const ticketSnippet = (facts: TicketSnippetFacts): Snippet => {
  const { controlOrigin, confidentialOrigin, key, path, text, ticket, body, more = '' } = facts;
  return {
    id: 'private',
    name: 'curl, private',
    text,
    code: `TICKET=$(curl -sS ${controlOrigin}/v1/inference/tickets \\
  -H 'authorization: Bearer ${key}' -H 'content-type: application/json' \\
  -d '${JSON.stringify(ticket)}' | sed -n -e 's/.*"ticket":"\\([^"]*\\)".*/\\1/p' -e t -e 'w /dev/stderr')
curl ${confidentialOrigin}/v1${path}${more} \\
  -H "x-router-ticket: $TICKET" -H 'content-type: application/json' \\
  -d '${JSON.stringify(body)}'`,
  };
};
