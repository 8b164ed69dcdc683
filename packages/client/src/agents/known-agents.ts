/** The settings by which an agent reaches the local proxy. */
export interface AgentWay {
  /** The proxy's address without a path, such as `http://127.0.0.1:41233`. */
  readonly origin: string;
  /** The token that the proxy asks for. The agent sends it as its API key. */
  readonly token: string;
  /** The model to use. Undefined: the agent's own names, which `--map` may translate. */
  readonly model: string | undefined;
  /** The context window of that model, in tokens. Undefined if it is not known. */
  readonly contextLength: number | undefined;
  /** The ids of the models that its picker may list. */
  readonly models: readonly string[];
  /** A folder for files that last as long as the run. */
  readonly folder: string;
}

/** How one agent is started. Its own configuration stays as it is. */
export interface AgentStart {
  /** Variables that are set for it, beside those of the user. */
  readonly environment: Readonly<Record<string, string>>;
  /** Arguments before those of the user. */
  readonly args: readonly string[];
  /** Files to write into the folder of the run, by their paths in it. */
  readonly files: Readonly<Record<string, string>>;
}

/** A coding agent that `sotto run` can start. */
export interface Agent {
  /** The program to run. */
  readonly program: string;
  /** The command that installs it. */
  readonly install: string;
  /** Whether it needs `--model`, because it knows no model by itself. */
  readonly needsModel: boolean;
  /** A file with variables of the user, in the form of `.env`. They replace those of the agent's environment. */
  readonly variablesFile?: (environment: Readonly<Record<string, string | undefined>>, home: string) => string;
  start(way: AgentWay): AgentStart;
}

/** The output tokens that Claude Code reserves by itself. */
const claudeOutput = 32_000;

/**
 * Claude Code: https://code.claude.com/docs/en/llm-gateway. It speaks Anthropic's Messages. Its own telemetry is turned off. The switch
 * that stops all of its other traffic would stop its list of models, too, so it is left to the user.
 */
export const claude: Agent = {
  program: 'claude',
  install: 'npm install -g @anthropic-ai/claude-code',
  needsModel: false,
  start: ({ origin, token, model, contextLength }) => ({
    environment: {
      ANTHROPIC_BASE_URL: origin,
      ANTHROPIC_AUTH_TOKEN: token,
      // Its settings files have variables, too, which would replace these: another address, or a proxy.
      CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST: '1',
      ...(model === undefined
        ? {}
        : {
            ANTHROPIC_MODEL: model,
            ANTHROPIC_DEFAULT_MODEL: model,
            ANTHROPIC_DEFAULT_FABLE_MODEL: model,
            ANTHROPIC_DEFAULT_OPUS_MODEL: model,
            ANTHROPIC_DEFAULT_SONNET_MODEL: model,
            ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
            CLAUDE_CODE_SUBAGENT_MODEL: model,
          }),
      // It takes a model that it does not know for one of a million tokens, and would shorten a conversation too late.
      ...(contextLength === undefined ? {} : { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(contextLength) }),
      // It keeps this much of the context free for an answer. Its own 32,000 would leave no room for a prompt in a small context.
      ...(contextLength === undefined || contextLength / 4 >= claudeOutput
        ? {}
        : { CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(Math.floor(contextLength / 4)) }),
      CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1',
      // After a stream that broke off it would ask again without a stream, and pay twice.
      CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK: '1',
      // It would put a text that differs by request before the prompt, which defeats caches of the prompt.
      CLAUDE_CODE_ATTRIBUTION_HEADER: '0',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
    },
    args: [],
    files: {},
  }),
};

const token = 'SOTTO_LOCAL_TOKEN';

/** Codex: https://developers.openai.com/codex/config. It speaks OpenAI's Responses. Options replace its own configuration for one run. */
export const codex: Agent = {
  program: 'codex',
  install: 'npm install -g @openai/codex',
  needsModel: true,
  variablesFile: ({ CODEX_HOME }, home) => `${CODEX_HOME || `${home}/.codex`}/.env`,
  start: ({ origin, token: value, model, contextLength }) => {
    const settings: readonly (readonly [name: string, value: string | number | boolean])[] = [
      ['model_provider', 'sotto'],
      ['model_providers.sotto.name', 'Sotto'],
      ['model_providers.sotto.base_url', `${origin}/v1`],
      ['model_providers.sotto.wire_api', 'responses'],
      ['model_providers.sotto.env_key', token],
      ['analytics.enabled', false],
      ...(model === undefined ? [] : [['model', model] as const]),
      ...(contextLength === undefined ? [] : [['model_context_window', contextLength] as const]),
    ];
    return {
      environment: { [token]: value },
      args: settings.flatMap(([name, text]) => ['-c', `${name}=${JSON.stringify(text)}`]),
      files: {},
    };
  },
};

/** The base URL of clients of OpenAI's chat completions. */
const baseUrl = ({ origin }: AgentWay): string => `${origin}/v1`;
/** The model that was named, then those of the catalog, each once. */
const offered = ({ model, models }: AgentWay): string[] => [
  ...new Set([...(model === undefined ? [] : [model]), ...models]),
];

/** Without it, opencode would send a sentence in place of an image. The service refuses images for models that take none. */
const seeing = { attachment: true, modalities: { input: ['text', 'image'], output: ['text'] } } as const;

/**
 * opencode: https://opencode.ai/docs/config. Its configuration is merged with the user's own and the project's. The project cannot
 * lift the list of providers, so an agent of the project that names another provider fails.
 */
export const opencode: Agent = {
  program: 'opencode',
  install: 'npm install -g opencode-ai',
  needsModel: true,
  start: (way) => ({
    environment: {
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        enabled_providers: ['sotto'],
        provider: {
          sotto: {
            npm: '@ai-sdk/openai-compatible',
            name: 'Sotto',
            options: { baseURL: baseUrl(way), apiKey: way.token },
            models: Object.fromEntries(offered(way).map((id) => [id, { name: id, ...seeing }])),
          },
        },
        ...(way.model === undefined ? {} : { model: `sotto/${way.model}`, small_model: `sotto/${way.model}` }),
        share: 'disabled',
      }),
    },
    args: [],
    files: {},
  }),
};

/**
 * Qwen Code: https://qwenlm.github.io/qwen-code-docs. Its system settings override those of the user and the project, by which
 * it could send content to another service.
 */
export const qwen: Agent = {
  program: 'qwen',
  install: 'npm install -g @qwen-code/qwen-code',
  needsModel: true,
  start: (way) => ({
    environment: {
      OPENAI_BASE_URL: baseUrl(way),
      OPENAI_API_KEY: way.token,
      ...(way.model === undefined ? {} : { OPENAI_MODEL: way.model }),
      QWEN_CODE_SYSTEM_SETTINGS_PATH: `${way.folder}/system.json`,
      QWEN_TELEMETRY_ENABLED: 'false',
      QWEN_USAGE_STATISTICS_ENABLED: 'false',
    },
    args: ['--auth-type', 'openai'],
    files: {
      'system.json': JSON.stringify({
        modelProviders: {
          openai: offered(way).map((id) => ({ id, baseUrl: baseUrl(way), envKey: 'OPENAI_API_KEY' })),
        },
        telemetry: { enabled: false },
      }),
    },
  }),
};

/**
 * pi: https://pi.dev/docs. It reads its providers from a folder, so the run has a folder of its own. Extensions are off, because one
 * of the project could replace the provider.
 */
export const pi: Agent = {
  program: 'pi',
  install: 'npm install -g @earendil-works/pi-coding-agent',
  needsModel: true,
  start: (way) => ({
    environment: { PI_CODING_AGENT_DIR: way.folder, SOTTO_LOCAL_TOKEN: way.token, PI_TELEMETRY: '0' },
    args: ['--no-extensions', '--provider', 'sotto', ...(way.model === undefined ? [] : ['--model', way.model])],
    files: {
      'models.json': JSON.stringify({
        providers: {
          sotto: {
            ...{ baseUrl: baseUrl(way), api: 'openai-completions', apiKey: way.token },
            models: offered(way).map((id) => ({
              ...{ id, name: id, input: ['text', 'image'] },
              ...(id === way.model && way.contextLength !== undefined ? { contextWindow: way.contextLength } : {}),
            })),
          },
        },
      }),
    },
  }),
};

/** Continue's command `cn`: https://docs.continue.dev/cli. Its configuration is YAML, of which JSON is a part. */
export const continueCli: Agent = {
  program: 'cn',
  install: 'npm install -g @continuedev/cli',
  needsModel: true,
  start: (way) => ({
    environment: {},
    args: ['--config', `${way.folder}/continue.yaml`],
    files: {
      'continue.yaml': JSON.stringify({
        ...{ name: 'Sotto', version: '1.0.0', schema: 'v1' },
        models: (way.model === undefined ? offered(way) : [way.model]).map((model) => ({
          ...{ name: model, provider: 'openai', model, apiBase: baseUrl(way), apiKey: way.token },
          roles: ['chat', 'edit', 'apply'],
          capabilities: ['tool_use'],
          ...(model === way.model && way.contextLength !== undefined
            ? { defaultCompletionOptions: { contextLength: way.contextLength } }
            : {}),
        })),
      }),
    },
  }),
};

/**
 * Cline's command: https://docs.cline.bot/cline-cli/cli-reference. It runs with a data folder of its own, because it would otherwise
 * start a process in the background, which outlives the run and would serve the user's next session with this run's provider.
 */
export const cline: Agent = {
  program: 'cline',
  install: 'npm install -g cline',
  needsModel: true,
  start: (way) => ({
    // It reads this file before it knows of the folder.
    environment: { CLINE_GLOBAL_SETTINGS_PATH: `${way.folder}/settings/global-settings.json` },
    args: [
      ...['--data-dir', way.folder, '--provider', 'openai-compatible'],
      ...(way.model === undefined ? [] : ['--model', way.model]),
    ],
    files: {
      'settings/providers.json': JSON.stringify({
        ...{ version: 1, lastUsedProvider: 'openai-compatible', modes: {} },
        providers: {
          'openai-compatible': {
            settings: {
              ...{ provider: 'openai-compatible', apiKey: way.token, baseUrl: baseUrl(way) },
              ...(way.model === undefined ? {} : { model: way.model }),
              ...(way.contextLength === undefined ? {} : { contextWindow: way.contextLength }),
            },
            updatedAt: '1970-01-01T00:00:00.000Z',
            tokenSource: 'manual',
          },
        },
      }),
      // Without the user's settings, Cline would run every tool unasked, which they may have forbidden.
      'settings/global-settings.json': JSON.stringify({ telemetryOptOut: true, toolAutoApprove: false }),
    },
  }),
};

/** The tokens that Gemini CLI takes every model's context for. */
const geminiContext = 1_048_576;

/**
 * Gemini CLI: https://geminicli.com/docs. It speaks Google's API. The run has a home folder of its own, because the user's settings could
 * sign in to Google, and only root can write settings above those. A project's settings count in folders that the user trusts.
 */
export const gemini: Agent = {
  program: 'gemini',
  install: 'npm install -g @google/gemini-cli',
  needsModel: true,
  start: ({ origin, token: value, model, contextLength, folder }) => ({
    environment: {
      GOOGLE_GEMINI_BASE_URL: origin,
      GEMINI_API_KEY: value,
      GEMINI_API_KEY_AUTH_MECHANISM: 'x-goog-api-key',
      GEMINI_CLI_HOME: folder,
      GEMINI_TELEMETRY_ENABLED: 'false',
    },
    args: model === undefined ? [] : ['--model', model],
    files: {
      '.gemini/settings.json': JSON.stringify({
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        telemetry: { enabled: false },
        // It shortens a conversation at this part of a context that it believes to be of a million tokens.
        ...(contextLength === undefined
          ? {}
          : { model: { compressionThreshold: Math.min(0.5, (contextLength / geminiContext) * 0.6) } }),
      }),
    },
  }),
};

/** Goose: https://goose-docs.ai. Variables override its own configuration, and keep the token out of the keyring. */
export const goose: Agent = {
  program: 'goose',
  install: 'brew install block-goose-cli',
  needsModel: true,
  start: (way) => ({
    environment: {
      GOOSE_PROVIDER: 'openai',
      OPENAI_HOST: way.origin,
      OPENAI_BASE_URL: baseUrl(way),
      OPENAI_BASE_PATH: 'v1/chat/completions',
      OPENAI_API_KEY: way.token,
      ...(way.model === undefined ? {} : { GOOSE_MODEL: way.model }),
      ...(way.contextLength === undefined ? {} : { GOOSE_CONTEXT_LIMIT: String(way.contextLength) }),
      GOOSE_DISABLE_KEYRING: '1',
      GOOSE_TELEMETRY_OFF: '1',
    },
    args: [],
    files: {},
  }),
};
