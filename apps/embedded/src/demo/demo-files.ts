export const demoProviderId = 'demo';

/** The demo provider's entry in the provider registry. */
export const demoRegistryEntry = (baseUrl: string): string => `
  - id: ${demoProviderId}
    name: Demo (this machine; no language model)
    adapter: openai
    base_url: ${baseUrl}
    privacy_class: private
`;

/** The demo provider's models in the catalog. `auto`: whether `/auto` may choose the demo, as it must if there is nothing else. */
export const demoCatalogEntries = ({ auto }: { readonly auto: boolean }): string => `
  - id: demo/chat
    name: Demo chat (repeats what it is told)
    model_type: text
    auto: ${auto}
    context_length: 400000
    max_output_tokens: 128000
    routes:
      - provider: demo
        upstream_model: demo-chat
        privacy_class: private
        pricing: {input: 0.5, output: 1.5, cached_input: 0.05}
        capabilities: {tools: true, vision: true, structured_output: true, reasoning: {efforts: [low, medium, high], can_disable: true}}
  - id: demo/embedding
    name: Demo embedding (vectors without meaning)
    model_type: embedding
    context_length: 8192
    routes:
      - provider: demo
        upstream_model: demo-embedding
        privacy_class: private
        pricing: {input: 0.02}
  - id: demo/image
    name: Demo image (one colour)
    model_type: image
    routes:
      - provider: demo
        upstream_model: demo-image
        privacy_class: private
        pricing: {image: 0.01}
  - id: demo/speech
    name: Demo speech (silence)
    model_type: tts
    routes:
      - provider: demo
        upstream_model: demo-speech
        privacy_class: private
        pricing: {input_characters: 15}
`;
