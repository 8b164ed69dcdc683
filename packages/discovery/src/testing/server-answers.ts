/** The JSON that a stand-in answers, by `METHOD /path`. A function gets the body. Absent: 404. */
export type Answers = Readonly<Record<string, unknown>>;

/** Answers of Ollama 0.13 with two models of its own and one of its cloud. */
export const ollamaAnswers: Answers = {
  'GET /api/version': { version: '0.13.1' },
  'GET /api/tags': {
    models: [
      { name: 'qwen3:8b', model: 'qwen3:8b', size: 5_225_388_164, digest: 'aa', details: { family: 'qwen3' } },
      { name: 'nomic-embed-text:latest', model: 'nomic-embed-text:latest', size: 274_302_450, digest: 'bb' },
      {
        ...{ name: 'gpt-oss:120b-cloud', model: 'gpt-oss:120b-cloud', size: 384 },
        ...{ remote_model: 'gpt-oss:120b', remote_host: 'https://ollama.com:443' },
      },
    ],
  },
  'GET /api/ps': { models: [] },
  'POST /api/show': ({ model }: { readonly model: string }) =>
    model === 'qwen3:8b'
      ? {
          capabilities: ['completion', 'tools', 'thinking'],
          model_info: { 'general.architecture': 'qwen3', 'qwen3.context_length': 40_960 },
          parameters: 'stop    "<|im_start|>"\nnum_ctx                        16384',
        }
      : {
          capabilities: ['embedding'],
          model_info: { 'general.architecture': 'nomic-bert', 'nomic-bert.context_length': 2048 },
        },
};

/** Answers of LM Studio 0.4. */
export const lmStudioAnswers: Answers = {
  'GET /api/v1/models': {
    models: [
      {
        type: 'llm',
        key: 'google/gemma-3-12b',
        display_name: 'Gemma 3 12B',
        max_context_length: 131_072,
        loaded_instances: [{ id: 'google/gemma-3-12b', config: { context_length: 8192 } }],
        capabilities: { vision: true, trained_for_tool_use: true },
      },
      { type: 'embedding', key: 'text-embedding-nomic', max_context_length: 2048, loaded_instances: [] },
    ],
  },
};

/** Answers of LM Studio 0.3. */
export const earlierLmStudioAnswers: Answers = {
  'GET /api/v0/models': {
    object: 'list',
    data: [
      {
        ...{ id: 'qwen2-vl-7b', object: 'model', type: 'vlm', compatibility_type: 'mlx', state: 'not-loaded' },
        ...{ max_context_length: 32_768, capabilities: ['tool_use'] },
      },
    ],
  },
};

/** Answers of `llama-server` with one model. */
export const llamaCppAnswers: Answers = {
  'GET /v1/models': {
    object: 'list',
    data: [
      {
        ...{ id: '/models/Llama-3.2-3B-Instruct-Q4_K_M.gguf', object: 'model', owned_by: 'llamacpp' },
        meta: { n_ctx_train: 131_072, n_params: 3_212_749_888 },
      },
    ],
  },
  'GET /props': {
    default_generation_settings: { n_ctx: 4096 },
    total_slots: 1,
    modalities: { vision: false, audio: false },
    chat_template: '{%- if tools is not none %}{{ tools }}{%- endif %}',
  },
};

/** Answers of vLLM that was started without tools. */
export const vllmAnswers: Answers = {
  'GET /v1/models': {
    object: 'list',
    data: [{ id: 'Qwen/Qwen3-8B', object: 'model', owned_by: 'vllm', root: 'Qwen/Qwen3-8B', max_model_len: 32_768 }],
  },
  'POST /v1/chat/completions': ({ tools }: { readonly tools?: unknown }) =>
    tools === undefined ? { choices: [{ message: { role: 'assistant', content: 'H' } }] } : undefined,
};
