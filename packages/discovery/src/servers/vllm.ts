import * as z from 'zod';
import { type Ask, type Leave, type ServedModel, tokens } from '../model-server.ts';
import { chats, takesTools } from '../probe.ts';

const modelsSchema = z.looseObject({
  data: z.array(z.looseObject({ id: z.string(), owned_by: z.literal('vllm'), max_model_len: tokens })).min(1),
});
const vectorsSchema = z.looseObject({ data: z.array(z.unknown()) });

/**
 * Reads a vLLM server: https://docs.vllm.ai, "OpenAI-Compatible Server". Its list does not say what a model can do, so this asks
 * each model for one token, without and with a tool.
 */
export async function readVllm(ask: Ask, leave: Leave): Promise<readonly ServedModel[] | undefined> {
  const listed = modelsSchema.safeParse(await ask('/v1/models')).data;
  if (listed === undefined) return undefined;
  const askApi: Ask = (path, body) => ask(`/v1${path}`, body);
  const models = await Promise.all(
    listed.data.map(async ({ id, max_model_len: contextLength }): Promise<ServedModel[]> => {
      if (contextLength === undefined) {
        leave(id, 'vLLM states no context length for it');
        return [];
      }
      const facts = { name: id, contextLength, vision: false };
      const [isText, tools] = await Promise.all([chats(askApi, id), takesTools(askApi, id)]);
      if (isText) return [{ ...facts, type: 'text', tools, structuredOutput: true }];
      const embeds = vectorsSchema.safeParse(await ask('/v1/embeddings', { model: id, input: 'Hi' })).success;
      if (embeds) return [{ ...facts, type: 'embedding', tools: false, structuredOutput: false }];
      leave(id, 'it answered neither a chat nor an embedding');
      return [];
    }),
  );
  return models.flat();
}
