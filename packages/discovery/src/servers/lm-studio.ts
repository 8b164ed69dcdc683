import * as z from 'zod';
import { type Ask, type Leave, loose, type ServedModel, tokens } from '../model-server.ts';

const currentSchema = z.looseObject({
  models: z.array(
    z.looseObject({
      key: z.string(),
      type: z.string(),
      max_context_length: tokens,
      loaded_instances: loose(z.array(z.looseObject({ config: loose(z.looseObject({ context_length: tokens })) }))),
      capabilities: loose(z.looseObject({ vision: loose(z.boolean()), trained_for_tool_use: loose(z.boolean()) })),
    }),
  ),
});
const earlierSchema = z.looseObject({
  data: z.array(
    z.looseObject({
      id: z.string(),
      type: z.enum(['llm', 'vlm', 'embeddings']),
      compatibility_type: z.string(),
      max_context_length: tokens,
      loaded_context_length: tokens,
      capabilities: loose(z.array(z.string())),
    }),
  ),
});

/** Reads an LM Studio server: https://lmstudio.ai/docs/developer/rest. Versions before 0.4 answer under `/api/v0`. */
export async function readLmStudio(ask: Ask, leave: Leave): Promise<readonly ServedModel[] | undefined> {
  const current = currentSchema.safeParse(await ask('/api/v1/models')).data;
  if (current !== undefined) {
    return current.models.flatMap((model): ServedModel[] => {
      // A loaded model answers with the context that it was loaded with, which may be smaller than its own.
      const loaded = model.loaded_instances?.flatMap(({ config }) => config?.context_length ?? []) ?? [];
      const contextLength = loaded.length > 0 ? Math.min(...loaded) : model.max_context_length;
      const isText = model.type === 'llm' || model.type === 'vlm';
      return served(leave, {
        name: model.key,
        type: isText ? 'text' : model.type,
        contextLength,
        tools: model.capabilities?.trained_for_tool_use ?? false,
        vision: model.capabilities?.vision ?? model.type === 'vlm',
      });
    });
  }
  const earlier = earlierSchema.safeParse(await ask('/api/v0/models')).data;
  return earlier?.data.flatMap((model) =>
    served(leave, {
      name: model.id,
      type: model.type === 'embeddings' ? 'embedding' : 'text',
      contextLength: model.loaded_context_length ?? model.max_context_length,
      tools: model.capabilities?.includes('tool_use') ?? false,
      vision: model.type === 'vlm',
    }),
  );
}

interface Listed {
  readonly name: string;
  readonly type: string;
  readonly contextLength: number | undefined;
  readonly tools: boolean;
  readonly vision: boolean;
}

function served(leave: Leave, { name, type, contextLength, tools, vision }: Listed): ServedModel[] {
  if (type !== 'text' && type !== 'embedding') {
    leave(name, `LM Studio lists it with the type ${JSON.stringify(type)}`);
    return [];
  }
  if (contextLength === undefined) {
    leave(name, 'LM Studio states no context length for it');
    return [];
  }
  return [{ name, type, contextLength, tools, vision, structuredOutput: type === 'text' }];
}
