import { anthropicDialect } from '../../kit/dialects/anthropic.ts';
import { bedrockDialect } from '../../kit/dialects/bedrock.ts';
import type { Asked, Dialect, Says } from '../../kit/dialects/dialect.ts';
import { googleDialect } from '../../kit/dialects/google.ts';
import { azureDialect, openAiDialect } from '../../kit/dialects/openai.ts';
import type { ProviderHandler } from '../../kit/provider.ts';
import { send } from '../../kit/scenes/events.ts';
import type { ModelSpec, ProviderSpec, StageSpec } from '../../kit/stage/spec.ts';

export const price = { input: 1, output: 4, cached_input: 0.25, cache_write: 1.25, reasoning: 4 } as const;
export const quick = { connect_ms: 300, first_byte_ms: 400, idle_ms: 500, total_ms: 2500 } as const;
export const usual: Says = { text: 'Well said, in these few words.', usage: { fresh: 12, output: 8 } };
export const backupText = 'The other one serves.';

/** Every vendor for which there is a chat adapter. */
export const dialects: readonly Dialect[] = [
  openAiDialect,
  azureDialect,
  anthropicDialect,
  googleDialect,
  bedrockDialect,
];

/** Answers whole or streamed, as requested. Reads the request as strictly as the vendor. */
export const speaks =
  (dialect: Dialect, says: Says | ((asked: Asked) => Says)): ProviderHandler =>
  async (request, response) => {
    let asked: Asked;
    try {
      asked = dialect.asked(request);
    } catch (error) {
      response.writeHead(418).end();
      throw error;
    }
    const said = typeof says === 'function' ? says(asked) : says;
    if (!asked.stream) {
      response.writeHead(200, { 'content-type': 'application/json', 'x-leak': 'LEAKED-WORDS' });
      response.end(JSON.stringify(dialect.whole(said)));
      return;
    }
    response.writeHead(200, { 'content-type': dialect.streamType, 'x-leak': 'LEAKED-WORDS' });
    const { head, pieces, tail } = dialect.stream(said);
    for (const piece of [...head, ...pieces, ...tail]) await send(response, piece);
    response.end();
  };

const keyName = ({ adapter }: Dialect): string => `${adapter.toUpperCase()}_TEST_KEY`;

const prefixes = {
  openai: 'gpt-5-',
  azure: 'gpt-5-',
  anthropic: 'claude-opus-5-',
  google: 'gemini-3-pro-',
  bedrock: 'us.anthropic.claude-opus-5-',
} as const;

const capabilities = {
  tools: true,
  vision: true,
  structured_output: true,
  reasoning: { efforts: ['low', 'high'], can_disable: true },
};

/** The providers of a dialect share a server. One has short time limits. */
const providersOf = (dialect: Dialect): Record<string, ProviderSpec> => {
  const own = { dialect, api_key_env: keyName(dialect) };
  const { adapter } = dialect;
  return { [adapter]: own, [`${adapter}-quick`]: { ...own, at: adapter, timeouts: quick } };
};

/** The models of a dialect: its own provider alone, with `backup` as fallback, or the same with short time limits. */
const modelsOf = ({ adapter }: Dialect): Record<string, ModelSpec> => {
  // These look like the vendor's names and have characters that a path must escape.
  const upstream = (id: string): string => `${prefixes[adapter]}${id.replace('/', '-')}:v1`;
  const own = { pricing: price, upstream, capabilities };
  const backup = { pricing: [5, 20], upstream, capabilities } as const;
  return {
    [`${adapter}-single`]: { copies: 100, routes: { [adapter]: own } },
    [`${adapter}-pair`]: { copies: 60, routes: { [adapter]: own, backup } },
    [`${adapter}-quick`]: { copies: 8, routes: { [`${adapter}-quick`]: own } },
    [`${adapter}-quick-pair`]: { copies: 4, routes: { [`${adapter}-quick`]: own, backup } },
  };
};

/** A provider for every dialect, and one that always serves. */
export const everyDialect: StageSpec = {
  providers: {
    ...Object.assign({}, ...dialects.map(providersOf)),
    backup: { answers: speaks(openAiDialect, { ...usual, text: backupText }) },
  },
  models: Object.assign({}, ...dialects.map(modelsOf)),
  limits: { context_length: 100_000, max_output_tokens: 4000 },
  environment: Object.fromEntries(dialects.map((dialect) => [keyName(dialect), `key-of-${dialect.adapter}`])),
};
