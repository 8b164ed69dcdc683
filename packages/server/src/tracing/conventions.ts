/**
 * Names of OpenTelemetry's semantic conventions: HTTP of version 1.45.0 (stable), and generative AI of version 0.1.0, the first release of
 * https://github.com/open-telemetry/semantic-conventions-genai (in development).
 */

/** Values of `gen_ai.operation.name`. */
export const genAiOperations = {
  chat: 'chat',
  embeddings: 'embeddings',
  image: 'generate_content',
  speech: 'generate_content',
} as const;

/** Well-known values of `gen_ai.provider.name` that differ from the ids of the built-in registry. */
const providerNames: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  gemini: 'gcp.gemini',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  xai: 'x_ai',
};

/** The value of `gen_ai.provider.name` for a provider's public id. A variant or region is its provider. */
export function genAiProvider(publicId: string): string {
  const [id = publicId] = publicId.split('/');
  return providerNames[id] ?? id;
}

/** In seconds. The bounds that the conventions for generative AI give. */
export const genAiBuckets = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/** In seconds. The bounds that the conventions for HTTP give. */
export const httpBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** A metric that is sent to a collector. */
interface SentMetric {
  readonly name: string;
  readonly unit: string;
  /** The names of its labels there. Other labels would not be sent. */
  readonly labels: Readonly<Record<string, string>>;
}

const ofGenAi = {
  gen_ai_operation_name: 'gen_ai.operation.name',
  gen_ai_provider_name: 'gen_ai.provider.name',
  error_type: 'error.type',
};

/** All metrics that are sent to a collector, by their names for Prometheus. */
export const sentMetrics: Readonly<Record<string, SentMetric>> = {
  gen_ai_client_inference_duration_seconds: { name: 'gen_ai.client.inference.duration', unit: 's', labels: ofGenAi },
  gen_ai_client_inference_time_to_first_chunk_seconds: {
    ...{ name: 'gen_ai.client.inference.time_to_first_chunk', unit: 's', labels: ofGenAi },
  },
  gen_ai_client_embeddings_duration_seconds: { name: 'gen_ai.client.embeddings.duration', unit: 's', labels: ofGenAi },
  http_server_request_duration_seconds: {
    name: 'http.server.request.duration',
    unit: 's',
    labels: {
      error_type: 'error.type',
      http_request_method: 'http.request.method',
      http_response_status_code: 'http.response.status_code',
      http_route: 'http.route',
      url_scheme: 'url.scheme',
    },
  },
  sotto_input_tokens_total: { name: 'sotto.input_tokens', unit: '{token}', labels: {} },
  sotto_output_tokens_total: { name: 'sotto.output_tokens', unit: '{token}', labels: {} },
  sotto_charged_usd_total: { name: 'sotto.charged', unit: '{USD}', labels: {} },
};
