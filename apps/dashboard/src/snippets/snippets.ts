import type { Snippet } from './snippet-tabs.tsx';

export interface SnippetFacts {
  /** Without `/v1`. */
  readonly controlOrigin: string;
  readonly confidentialOrigin: string;
  readonly key: string;
  readonly model: string;
}

/** First requests that work as they stand: in a POSIX shell, in Node with the package `openai`, in Python, with our client. */
export function makeSnippets({ controlOrigin, confidentialOrigin, key, model }: SnippetFacts): readonly Snippet[] {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
  return [
    {
      id: 'curl',
      name: 'curl',
      text: 'Compatibility mode: any OpenAI client works with this address and key. The broker sees key and content together while the request runs.',
      code: `curl ${confidentialOrigin}/v1/chat/completions \\
  -H 'authorization: Bearer ${key}' -H 'content-type: application/json' \\
  -d '${body}'`,
    },
    {
      id: 'private',
      name: 'curl, private',
      text: 'Private flow: the key goes to control alone, the content to the broker alone; a single-use ticket is all that they share.',
      code: `TICKET=$(curl -s ${controlOrigin}/v1/inference/tickets \\
  -H 'authorization: Bearer ${key}' -H 'content-type: application/json' \\
  -d '${JSON.stringify({ model })}' | sed 's/.*"ticket":"\\([^"]*\\)".*/\\1/')
curl ${confidentialOrigin}/v1/chat/completions \\
  -H "x-router-ticket: $TICKET" -H 'content-type: application/json' \\
  -d '${body}'`,
    },
    {
      id: 'javascript',
      name: 'JavaScript',
      text: 'The OpenAI SDK for JavaScript (npm install openai).',
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
    {
      id: 'python',
      name: 'Python',
      text: 'The OpenAI SDK for Python (pip install openai).',
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
      id: 'client',
      name: 'Sotto client',
      text: 'Our client verifies the confidential origin before the first byte of content, then speaks the private flow for any OpenAI SDK.',
      code: `import OpenAI from 'openai';
import { createPrivateFetch } from '@sotto/client';

const client = new OpenAI({
  baseURL: '${confidentialOrigin}/v1',
  apiKey: 'unused: the client sends the key to control alone',
  fetch: createPrivateFetch({
    apiKey: '${key}',
    controlOrigin: '${controlOrigin}',
    baseOrigin: '${confidentialOrigin}',
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
