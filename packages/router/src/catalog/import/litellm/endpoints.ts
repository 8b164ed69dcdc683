import type { AdapterName } from '../../registry.ts';

/** How a provider of LiteLLM is reached. */
interface KnownProvider {
  /** The provider of the built-in registry whose entry fits. */
  readonly builtIn?: string;
  readonly adapter?: AdapterName;
  /** Undefined: the configuration must have it. */
  readonly baseUrl?: string;
  /** The variable that LiteLLM reads if the configuration names no key. */
  readonly keyVariable?: string;
}

/** The providers of LiteLLM that an adapter speaks to, by the name in front of the model. */
export const knownProviders: Readonly<Record<string, KnownProvider>> = {
  openai: { builtIn: 'openai' },
  anthropic: { builtIn: 'anthropic' },
  gemini: { builtIn: 'gemini' },
  groq: { builtIn: 'groq' },
  deepseek: { builtIn: 'deepseek' },
  mistral: { builtIn: 'mistral' },
  xai: { builtIn: 'xai' },
  together_ai: { builtIn: 'together' },
  fireworks_ai: { builtIn: 'fireworks' },
  openrouter: { builtIn: 'openrouter' },
  bedrock: { builtIn: 'bedrock/us-east-1' },
  cohere: { builtIn: 'cohere' },
  cohere_chat: { baseUrl: 'https://api.cohere.ai/compatibility/v1', keyVariable: 'COHERE_API_KEY' },
  cerebras: { baseUrl: 'https://api.cerebras.ai/v1', keyVariable: 'CEREBRAS_API_KEY' },
  deepinfra: { baseUrl: 'https://api.deepinfra.com/v1/openai', keyVariable: 'DEEPINFRA_API_KEY' },
  sambanova: { baseUrl: 'https://api.sambanova.ai/v1', keyVariable: 'SAMBANOVA_API_KEY' },
  nvidia_nim: { baseUrl: 'https://integrate.api.nvidia.com/v1', keyVariable: 'NVIDIA_NIM_API_KEY' },
  azure: { adapter: 'azure', keyVariable: 'AZURE_API_KEY' },
  hosted_vllm: {},
  openai_like: {},
  lm_studio: {},
  ollama: {},
  ollama_chat: {},
};

/** The address in the form of the registry, from the one that LiteLLM takes. Undefined if it is no address. */
export function registryAddress(provider: string, address: string): string | undefined {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  const path = url.pathname.replace(/\/+$/, '');
  if (provider === 'azure') return `${url.origin}/openai/v1`;
  if (provider === 'gemini' || provider === 'bedrock') return url.origin + path;
  return `${url.origin}${path === '' ? '/v1' : path}`;
}

/** The provider and the name that it knows the model by. Undefined: nothing tells the provider. */
export function splitModel(
  model: string,
  {
    custom,
    hasAddress,
    priced,
  }: { readonly custom: string | undefined; readonly hasAddress: boolean; readonly priced: string | undefined },
): { readonly provider: string; readonly upstream: string } | undefined {
  const slash = model.indexOf('/');
  const prefix = slash === -1 ? '' : model.slice(0, slash);
  if (custom !== undefined) return { provider: custom, upstream: prefix === custom ? model.slice(slash + 1) : model };
  if (prefix !== '' && (Object.hasOwn(knownProviders, prefix) || !hasAddress)) {
    return { provider: prefix, upstream: model.slice(slash + 1) };
  }
  if (priced !== undefined) return { provider: priced, upstream: model };
  return hasAddress ? { provider: 'openai', upstream: model } : undefined;
}
