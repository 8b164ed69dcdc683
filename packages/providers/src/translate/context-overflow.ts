/** Codes by which OpenAI-shaped providers say that a prompt is longer than the model's context. */
const codes: ReadonlySet<unknown> = new Set(['context_length_exceeded', 'exceed_context_size_error']);

/** The words of those that send no code: OpenAI, vLLM, Anthropic, Google, Bedrock, Mistral, Groq, xAI, llama.cpp. */
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
 * Whether a failed answer says that the prompt and the output do not fit the model's context. Agents shorten a
 * conversation for this error and for no other, so it must not look like any bad request.
 */
export const saysContextOverflow = (message: string | undefined, code?: unknown): boolean =>
  codes.has(code) || (message !== undefined && words.test(message));
