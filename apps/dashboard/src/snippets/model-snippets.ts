import type { ModelAnswer } from '@sotto/wire';
import type { Snippet, SnippetFacts } from './snippet.ts';
import { linkable, makeSnippets, ticketSnippet } from './snippets.ts';

/** Requests to a model of a type in a POSIX shell, and for chat in the SDKs. */
export function modelSnippets(type: ModelAnswer['model_type'], facts: SnippetFacts): readonly Snippet[] {
  const { model } = facts;
  switch (type) {
    case 'text':
      return makeSnippets(facts);
    case 'embedding':
      return [embeddingSnippet(facts)];
    case 'image':
      return [
        ticketSnippet({
          ...facts,
          text: mediaText,
          path: '/images/generations',
          ticket: { model, operation: 'image', size: '1024x1024', response_format: 'b64_json' },
          body: { model, prompt: 'A lighthouse at dusk', size: '1024x1024', response_format: 'b64_json' },
        }),
      ];
    case 'tts':
      return [
        ticketSnippet({
          ...facts,
          text: mediaText,
          path: '/audio/speech',
          ticket: { model, operation: 'speech', response_format: 'mp3', input_chars: spoken.length },
          body: { model, input: spoken, response_format: 'mp3' },
          more: ' -o speech.mp3',
        }),
      ];
    default:
      return type satisfies never;
  }
}

const spoken = 'Hello there';

const embeddingSnippet = ({ confidentialOrigin, key, model }: SnippetFacts): Snippet => ({
  id: 'curl',
  name: 'curl',
  text: linkable,
  code: `curl ${confidentialOrigin}/v1/embeddings \\
  -H 'authorization: Bearer ${key}' -H 'content-type: application/json' \\
  -d '${JSON.stringify({ model, input: 'Hello' })}'`,
});

const mediaText = 'Media need the private flow: the key goes only to control, and the content only to the broker.';
