import type { CatalogFileInput } from '@sotto/router';
import type { ServedModel, ServerKind } from './model-server.ts';
import { type ModelServer, serverKinds } from './recognise.ts';

/** An entry of a provider registry, with the field names of the file. */
export type RegistryEntry = Readonly<Record<string, unknown>> & { readonly id: string };

/**
 * The registry entry of a model server on a machine or network of one's own: class `private`, no key. Local models answer
 * slowly when they are loaded first, so the first byte may take two minutes.
 */
export const serverEntry = (kind: ServerKind, id: string, baseUrl: string): RegistryEntry => ({
  id,
  name: serverKinds[kind].name,
  adapter: 'openai',
  base_url: baseUrl,
  privacy_class: 'private',
  timeouts: { first_byte_ms: 120_000 },
  // The chat templates of many models refuse a system message elsewhere.
  request: { system_messages: 'first', ...(kind === 'ollama' ? { reasoning_field: 'reasoning' } : {}) },
});

/** The catalog's models of a server, at price 0, as `<provider>/<model>`. The names of models on this machine end in `(local)`. */
export function serverModels(
  { models }: Pick<ModelServer, 'models'>,
  provider: string,
  isLocal = true,
): CatalogFileInput['models'] {
  const taken = new Set<string>();
  return models.map((model) => {
    const id = freeId(`${provider}/${idOf(model.name)}`, taken);
    return {
      id,
      name: `${model.name}${isLocal ? ' (local)' : ''}`.slice(0, 200),
      model_type: model.type,
      context_length: model.contextLength,
      routes: [
        {
          provider,
          upstream_model: model.name,
          privacy_class: 'private',
          pricing: model.type === 'text' ? { input: 0, output: 0 } : { input: 0 },
          ...(model.type === 'text' ? { capabilities: capabilitiesOf(model) } : {}),
        },
      ],
    };
  });
}

const capabilitiesOf = ({ tools, vision, structuredOutput, reasoning }: ServedModel) => ({
  tools,
  vision,
  structured_output: structuredOutput,
  ...(reasoning === undefined
    ? {}
    : { reasoning: { efforts: [...reasoning.efforts], can_disable: reasoning.canDisable } }),
});

/**
 * The second half of a model id: `qwen3:8b` becomes `qwen3-8b`, and `:latest` is dropped. A colon would mark a suffix such as
 * `:nitro`. Of a path, such as llama.cpp lists, the file's name is left.
 */
function idOf(name: string): string {
  const bare = name.replace(/:latest$/, '').replace(/\.gguf$/, '');
  const last = bare.startsWith('/') ? (bare.split('/').pop() ?? bare) : bare;
  return (
    last
      .replace(/[^\w.-]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 150) || 'model'
  );
}

function freeId(wanted: string, taken: Set<string>): string {
  let id = wanted;
  for (let count = 2; taken.has(id); count += 1) id = `${wanted}-${count}`;
  taken.add(id);
  return id;
}
