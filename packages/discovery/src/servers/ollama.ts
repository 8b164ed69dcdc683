import * as z from 'zod';
import { type Ask, type Leave, loose, type ServedModel, tokens } from '../model-server.ts';

const tagsSchema = z.looseObject({
  models: z.array(z.looseObject({ name: z.string(), remote_host: loose(z.string()), remote_model: loose(z.string()) })),
});
const showSchema = z.looseObject({
  capabilities: loose(z.array(z.string())),
  model_info: loose(z.record(z.string(), z.unknown())),
  /** Lines such as `num_ctx 8192`. */
  parameters: loose(z.string()),
  remote_host: loose(z.string()),
  remote_model: loose(z.string()),
});
const runningSchema = z.looseObject({
  models: z.array(z.looseObject({ name: z.string(), context_length: tokens })),
});

/**
 * Reads an Ollama server: https://docs.ollama.com/api. Leaves out its cloud models, whose prompts Ollama sends to another
 * company. Only of loaded models does Ollama state the context that it serves. Of others without `num_ctx` this returns
 * the trained one, which may be more: Ollama's default depends on its GPUs and `OLLAMA_CONTEXT_LENGTH`.
 */
export async function readOllama(ask: Ask, leave: Leave): Promise<readonly ServedModel[] | undefined> {
  const tags = tagsSchema.safeParse(await ask('/api/tags'));
  if (!tags.success) return undefined;
  const isOllama = z.looseObject({ version: z.string() }).safeParse(await ask('/api/version')).success;
  if (!isOllama) return undefined;
  const running = runningSchema.safeParse(await ask('/api/ps'));
  const loaded = new Map(running.data?.models.map((model) => [model.name, model.context_length]));
  const models = await Promise.all(
    tags.data.models.map(async (tag): Promise<ServedModel | undefined> => {
      if (tag.remote_host != null || tag.remote_model != null) return cloud(tag.name, leave);
      const show = showSchema.safeParse(await ask('/api/show', { model: tag.name })).data;
      if (show === undefined) return omit(leave, tag.name, 'Ollama says nothing about it');
      if (show.remote_host != null || show.remote_model != null) return cloud(tag.name, leave);
      const abilities = new Set(show.capabilities ?? ['completion']);
      const contextLength =
        loaded.get(tag.name) ?? configuredContext(show.parameters) ?? trainedContext(show.model_info);
      if (contextLength === undefined) return omit(leave, tag.name, 'Ollama states no context length for it');
      if (!abilities.has('completion') && !abilities.has('embedding')) {
        return omit(leave, tag.name, 'it neither chats nor embeds');
      }
      return {
        name: tag.name,
        type: abilities.has('completion') ? 'text' : 'embedding',
        contextLength,
        tools: abilities.has('tools'),
        vision: abilities.has('vision'),
        structuredOutput: abilities.has('completion'),
        ...(abilities.has('thinking')
          ? { reasoning: { efforts: ['low', 'medium', 'high'], canDisable: !alwaysThinks.test(tag.name) } }
          : {}),
      };
    }),
  );
  return models.filter((model) => model !== undefined);
}

/** Models that take an effort but cannot answer without thinking. */
const alwaysThinks = /^gpt-oss\b/;

const cloud = (name: string, leave: Leave): undefined => omit(leave, name, 'it runs in Ollama’s cloud, not here');

function omit(leave: Leave, name: string, reason: string): undefined {
  leave(name, reason);
  return undefined;
}

function configuredContext(parameters: string | undefined | null): number | undefined {
  const [, found] = /^num_ctx\s+(\d+)\s*$/m.exec(parameters ?? '') ?? [];
  return tokens.parse(Number(found));
}

function trainedContext(info: Readonly<Record<string, unknown>> | undefined | null): number | undefined {
  const [, found] = Object.entries(info ?? {}).find(([name]) => name.endsWith('.context_length')) ?? [];
  return tokens.parse(found);
}
