import * as z from 'zod';
import { type Ask, type Leave, loose, type ServedModel, tokens } from '../model-server.ts';

const modelsSchema = z.looseObject({
  data: z
    .array(
      z.looseObject({
        id: z.string(),
        owned_by: z.literal('llamacpp'),
        meta: loose(z.looseObject({ n_ctx_train: tokens })),
        /** Only where one server manages several models. */
        status: loose(z.looseObject({ value: loose(z.string()) })),
      }),
    )
    .min(1),
});
const propsSchema = z.looseObject({
  default_generation_settings: loose(z.looseObject({ n_ctx: tokens })),
  modalities: loose(z.looseObject({ vision: loose(z.boolean()) })),
  chat_template: loose(z.string()),
  chat_template_caps: loose(z.looseObject({ supports_tools: loose(z.boolean()) })),
});
const vectorsSchema = z.looseObject({ data: z.array(z.unknown()) });

/**
 * Reads a llama.cpp server (`llama-server`): https://github.com/ggml-org/llama.cpp, `tools/server/README.md`. A server that
 * manages several models describes each under `/props?model=`. Neither says whether a model embeds. So this asks for an
 * embedding, which a server that chats refuses at once.
 */
export async function readLlamaCpp(ask: Ask, leave: Leave): Promise<readonly ServedModel[] | undefined> {
  const listed = modelsSchema.safeParse(await ask('/v1/models')).data;
  if (listed === undefined) return undefined;
  const models = await Promise.all(
    listed.data.map(async ({ id, meta, status }): Promise<ServedModel[]> => {
      const [one, loaded] =
        status == null ? ['', ''] : [`?model=${encodeURIComponent(id)}&autoload=false`, '?autoload=false'];
      const props = propsSchema.safeParse(await ask(`/props${one}`)).data;
      const contextLength = props?.default_generation_settings?.n_ctx ?? meta?.n_ctx_train;
      if (contextLength === undefined) {
        leave(id, 'llama.cpp states no context length for it; load it first');
        return [];
      }
      const embeds = vectorsSchema.safeParse(await ask(`/v1/embeddings${loaded}`, { model: id, input: 'Hi' })).success;
      if (embeds) {
        const without = { tools: false, vision: false, structuredOutput: false };
        return [{ name: id, type: 'embedding', contextLength, ...without }];
      }
      // Earlier versions do not list what the template takes. Templates that take tools name them.
      const tools = props?.chat_template_caps?.supports_tools ?? /\btools\b/.test(props?.chat_template ?? '');
      const vision = props?.modalities?.vision ?? false;
      return [{ name: id, type: 'text', contextLength, tools, vision, structuredOutput: true }];
    }),
  );
  return models.flat();
}
