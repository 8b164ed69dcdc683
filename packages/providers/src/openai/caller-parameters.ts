import type { CallerParameters } from '../caller-parameters.ts';

/**
 * What servers of this shape take beside the fields of the interface: how tokens are sampled, which ones, and how they
 * are written. None of it changes a price, the number of answers, what the provider keeps, or runs code.
 *
 * @see https://docs.vllm.ai/en/stable/serving/openai_compatible_server/#extra-parameters and the API references of
 *   OpenAI, Mistral, Groq, Fireworks and Together
 */
export const openAiParameters: CallerParameters = {
  allowed_token_ids: true,
  bad_words: true,
  context_length_exceeded_behavior: true,
  include_reasoning: true,
  include_stop_str_in_output: true,
  logit_bias: true,
  min_p: true,
  min_tokens: true,
  mirostat_lr: true,
  mirostat_target: true,
  random_seed: true,
  reasoning_format: true,
  repetition_penalty: true,
  skip_special_tokens: true,
  spaces_between_special_tokens: true,
  stop_token_ids: true,
  top_a: true,
  top_k: true,
  typical_p: true,
  verbosity: true,
};

/** @see https://learn.microsoft.com/azure/ai-foundry/openai/latest */
export const azureParameters: CallerParameters = { logit_bias: true, verbosity: true };
