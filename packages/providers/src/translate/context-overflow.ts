/** Codes of OpenAI-shaped providers for a prompt that is longer than the model's context. */
const codes: ReadonlySet<unknown> = new Set(['context_length_exceeded', 'exceed_context_size_error']);

/** Messages of providers that send no code: OpenAI, vLLM, Anthropic, Google, Bedrock, Mistral, Groq, xAI, llama.cpp. */
const words = new RegExp(
  [
    'maximum context length',
    'maximum model length',
    'context (?:length|window|limit) (?:of|is|exceed)',
    'exceeds? (?:the )?(?:available )?(?:context|maximum (?:context|number of tokens|input))',
    'exceeds? the model.s context',
    'prompt is too long',
    'input is too long',
    'maximum prompt length is',
    'too many (?:input )?tokens',
    'reduce the length of (?:the|your) (?:messages|prompt|input)',
  ].join('|'),
  'i',
);

/**
 * Whether a failed answer says that the prompt and the output exceed the model's context. Agents shorten a conversation
 * only for this error, so it must differ from other bad requests.
 */
export const saysContextOverflow = (message: string | undefined, code?: unknown): boolean =>
  codes.has(code) || (message !== undefined && words.test(message));
