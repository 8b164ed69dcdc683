/** Codes of OpenAI-shaped providers for a prompt that is longer than the model's context. */
const codes: ReadonlySet<unknown> = new Set([
  'context_length_exceeded',
  'context_window_exceeded',
  'exceed_context_size_error',
  'model_context_window_exceeded',
  'model_max_prompt_tokens_exceeded',
]);

/** Messages of providers that send no code, or one that any bad request has. */
const words = new RegExp(
  [
    // OpenAI, OpenRouter, vLLM, Mistral, xAI, Groq.
    'maximum context length',
    'maximum model length',
    'maximum prompt length is',
    'context (?:length|window|limit|size) (?:of|is|exceed|has been exceeded)',
    'exceed(?:s|ed)? (?:the )?(?:available )?(?:context|maximum (?:context|number of tokens|input))',
    'exceeds? the model.s (?:maximum )?context',
    'reduce the length of (?:the|your) (?:messages|prompt|input)',
    // Anthropic, Bedrock, Ollama.
    'prompt (?:is )?too (?:long|large)',
    'input (?:is )?too long',
    // Google, Vertex.
    'input token count .{0,40}exceeds',
    // SGLang, LM Studio.
    '(?:longer|greater|larger) than the (?:model.s )?(?:maximum )?context',
    'exceed(?:s|ed)? the maximum allowed length',
    'context the overflows',
    // Kimi, z.ai, DashScope.
    'exceed(?:s|ed)? (?:the )?model token limit',
    'exceed(?:s|ed)? (?:the )?max(?:imum)? (?:context |prompt |input )?length',
    'range of input length should be',
    // Copilot, Cohere, Together.
    '(?:prompt|input)[^.]{0,60} exceeds? the limit of \\d',
    'too many (?:input )?tokens(?! per)',
    'inputs?`? tokens \\+ `?max_',
  ].join('|'),
  'i',
);

/**
 * Whether a failure says that the prompt and the output exceed the model's context. Agents shorten a conversation
 * only for this error, so it must differ from other bad requests.
 */
export const saysContextOverflow = (message: string | undefined, code?: unknown): boolean =>
  codes.has(code) || (message !== undefined && words.test(message));
