import type { ModelAnswer } from '@sotto/wire';
import type { Snippet } from '../../snippets/snippet-tabs.tsx';
import { makeSnippets } from '../../snippets/snippets.ts';

export interface Origins {
  /** Without `/v1`. */
  readonly controlOrigin: string;
  readonly confidentialOrigin: string;
}

const key = 'sotto_inf_YOUR_KEY';

/** Requests to a model in a POSIX shell, and for chat in the SDKs, complete but for the key. */
export function modelSnippets({ id: model, model_type }: ModelAnswer, origins: Origins): readonly Snippet[] {
  switch (model_type) {
    case 'text':
      return makeSnippets({ ...origins, key, model });
    case 'embedding':
      return [embeddingSnippet(model, origins)];
    case 'image':
      return [
        ticketSnippet(origins, {
          path: '/images/generations',
          ticket: { model, operation: 'image', size: '1024x1024', response_format: 'b64_json' },
          body: { model, prompt: 'A lighthouse at dusk', size: '1024x1024', response_format: 'b64_json' },
        }),
      ];
    case 'tts':
      return [
        ticketSnippet(origins, {
          path: '/audio/speech',
          ticket: { model, operation: 'speech', response_format: 'mp3', input_chars: spoken.length },
          body: { model, input: spoken, response_format: 'mp3' },
          more: ' -o speech.mp3',
        }),
      ];
    default:
      return model_type satisfies never;
  }
}

const spoken = 'Hello there';

const embeddingSnippet = (model: string, { confidentialOrigin }: Origins): Snippet => ({
  id: 'curl',
  name: 'curl',
  text: 'Compatibility mode: the broker sees key and content together while the request runs.',
  code: `curl ${confidentialOrigin}/v1/embeddings \\
  -H 'authorization: Bearer ${key}' -H 'content-type: application/json' \\
  -d '${JSON.stringify({ model, input: 'Hello' })}'`,
});

interface Ticketed {
  readonly path: string;
  readonly ticket: object;
  readonly body: object;
  readonly more?: string;
}

const ticketSnippet = (
  { controlOrigin, confidentialOrigin }: Origins,
  { path, ticket, body, more = '' }: Ticketed,
): Snippet => ({
  id: 'private',
  name: 'curl, private',
  text: 'Private flow, the only one for media: the key goes to control alone, the content to the broker alone.',
  code: `TICKET=$(curl -s ${controlOrigin}/v1/inference/tickets \\
  -H 'authorization: Bearer ${key}' -H 'content-type: application/json' \\
  -d '${JSON.stringify(ticket)}' | sed 's/.*"ticket":"\\([^"]*\\)".*/\\1/')
curl ${confidentialOrigin}/v1${path}${more} \\
  -H "x-router-ticket: $TICKET" -H 'content-type: application/json' \\
  -d '${JSON.stringify(body)}'`,
});
