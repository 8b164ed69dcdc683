import { describe, expect, it } from 'vitest';
import { type Ask, askServer } from './model-server.ts';
import { recogniseServer } from './recognise.ts';
import {
  type Answers,
  earlierLmStudioAnswers,
  llamaCppAnswers,
  lmStudioAnswers,
  ollamaAnswers,
  vllmAnswers,
} from './testing/server-answers.ts';

const asking =
  (answers: Answers): Ask =>
  async (path, body) => {
    const answer = answers[`${body === undefined ? 'GET' : 'POST'} ${path}`];
    return typeof answer === 'function' ? answer(body) : answer;
  };
const recognise = (answers: Answers) => recogniseServer('http://127.0.0.1:9', asking(answers));
const withoutReasoning = { tools: false, vision: false, structuredOutput: true };

describe('recogniseServer', () => {
  it('reads the models that Ollama runs itself, and leaves out those of its cloud', async () => {
    expect(await recognise(ollamaAnswers)).toEqual({
      kind: 'ollama',
      baseUrl: 'http://127.0.0.1:9/v1',
      models: [
        {
          ...{ name: 'qwen3:8b', type: 'text', contextLength: 16_384, tools: true, vision: false },
          ...{ structuredOutput: true, reasoning: { efforts: ['low', 'medium', 'high'], canDisable: true } },
        },
        {
          ...{ name: 'nomic-embed-text:latest', type: 'embedding', contextLength: 2048 },
          ...{ tools: false, vision: false, structuredOutput: false },
        },
      ],
      leftOut: [{ model: 'gpt-oss:120b-cloud', reason: 'it runs in Ollama’s cloud, not here' }],
    });
  });

  it('learns of a cloud model also from its own description', async () => {
    const found = await recognise({
      ...ollamaAnswers,
      'GET /api/tags': { models: [{ name: 'alias' }] },
      'POST /api/show': { capabilities: ['completion'], remote_host: 'https://ollama.com:443' },
    });
    expect(found).toMatchObject({ models: [], leftOut: [{ model: 'alias' }] });
  });

  it('takes the context with which Ollama has loaded a model', async () => {
    const found = await recognise({
      ...ollamaAnswers,
      'GET /api/ps': { models: [{ name: 'qwen3:8b', context_length: 4096 }] },
    });
    expect(found?.models[0]?.contextLength).toBe(4096);
  });

  it('takes no length out of bounds from Ollama', async () => {
    const described = (configured: string, trained: unknown) =>
      recognise({
        ...ollamaAnswers,
        'GET /api/tags': { models: [{ name: 'a' }] },
        'POST /api/show': { parameters: `num_ctx ${configured}`, model_info: { 'a.context_length': trained } },
      });
    expect((await described('0', 40_960))?.models[0]?.contextLength).toBe(40_960);
    expect(await described('9'.repeat(20), 1e15)).toMatchObject({ models: [], leftOut: [{ model: 'a' }] });
  });

  it('reads LM Studio, with the context that a model was loaded with', async () => {
    expect(await recognise(lmStudioAnswers)).toMatchObject({
      kind: 'lmstudio',
      models: [
        { name: 'google/gemma-3-12b', type: 'text', contextLength: 8192, tools: true, vision: true },
        { name: 'text-embedding-nomic', type: 'embedding', contextLength: 2048 },
      ],
    });
    expect(await recognise(earlierLmStudioAnswers)).toMatchObject({
      kind: 'lmstudio',
      models: [{ name: 'qwen2-vl-7b', type: 'text', contextLength: 32_768, tools: true, vision: true }],
    });
  });

  it('reads llama.cpp, with the context of one slot', async () => {
    expect(await recognise(llamaCppAnswers)).toMatchObject({
      kind: 'llamacpp',
      models: [{ type: 'text', contextLength: 4096, ...withoutReasoning, tools: true }],
    });
  });

  it('asks llama.cpp for an embedding, without loading a model for it', async () => {
    const embeds = { 'POST /v1/embeddings': { object: 'list', data: [{ embedding: [0.1] }] } };
    expect(await recognise({ ...llamaCppAnswers, ...embeds })).toMatchObject({
      models: [{ type: 'embedding', contextLength: 4096, tools: false, structuredOutput: false }],
    });
    const managed = { id: 'nomic', owned_by: 'llamacpp', status: { value: 'loaded' } };
    const found = await recognise({
      'GET /v1/models': { data: [managed] },
      'GET /props?model=nomic&autoload=false': llamaCppAnswers['GET /props'],
      'POST /v1/embeddings?autoload=false': embeds['POST /v1/embeddings'],
    });
    expect(found?.models).toMatchObject([{ name: 'nomic', type: 'embedding' }]);
  });

  it('asks vLLM what it takes', async () => {
    expect(await recognise(vllmAnswers)).toMatchObject({
      kind: 'vllm',
      models: [{ name: 'Qwen/Qwen3-8B', type: 'text', contextLength: 32_768, ...withoutReasoning }],
    });
    const withTools = { ...vllmAnswers, 'POST /v1/chat/completions': { choices: [] } };
    expect((await recognise(withTools))?.models[0]?.tools).toBe(true);
    const { 'POST /v1/chat/completions': _, ...embeds } = vllmAnswers;
    expect((await recognise({ ...embeds, 'POST /v1/embeddings': { data: [] } }))?.models[0]?.type).toBe('embedding');
    expect(await recognise(embeds)).toMatchObject({ models: [], leftOut: [{ model: 'Qwen/Qwen3-8B' }] });
  });

  it.each<[string, Answers]>([
    ['nothing', {}],
    ['another OpenAI-compatible server', { 'GET /v1/models': { data: [{ id: 'gpt-5.5', owned_by: 'system' }] } }],
    ['a server that lists models at Ollama’s path', { 'GET /api/tags': { models: [{ name: 'a' }] } }],
    ['a server that answers everything with a page', { 'GET /api/tags': 'hello', 'GET /v1/models': 'hello' }],
    ['a server that manages models', { 'GET /api/v1/models': { models: [{ id: 1 }] } }],
  ])('does not recognise %s', async (_, answers) => {
    expect(await recognise(answers)).toBeUndefined();
  });

  it('asks a server of another kind once for each list', async () => {
    const asked: string[] = [];
    await recogniseServer('http://127.0.0.1:9', async (path) => void asked.push(path));
    expect(asked).toEqual(['/api/tags', '/api/v1/models', '/api/v0/models', '/v1/models']);
  });
});

describe('askServer', () => {
  const answering = (body: ConstructorParameters<typeof Response>[0], status = 200) =>
    askServer('http://127.0.0.1:9', async () => new Response(body, { status }), 60_000)('/');

  it('reads JSON, and nothing from a failure or another answer', async () => {
    expect(await answering('\uFEFF{"a":"é"}')).toEqual({ a: 'é' });
    for (const [body, status] of [
      ['{}', 500],
      ['', 200],
      [null, 200],
    ] as const)
      expect(await answering(body, status)).toBeUndefined();
  });

  it('stops reading an endless answer that states no length', async () => {
    const piece = new Uint8Array(1024 * 1024).fill(0x20);
    let sent = 0;
    let isCancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += piece.length;
        if (sent > 64 * piece.length) controller.close();
        else controller.enqueue(piece);
      },
      cancel() {
        isCancelled = true;
      },
    });
    expect(await answering(endless)).toBeUndefined();
    expect({ isCancelled, isEarly: sent < 20 * piece.length }).toEqual({ isCancelled: true, isEarly: true });
  });
});
