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

interface AgentProgram {
  /** The program to run. */
  readonly program: string;
  /** The command that installs it. */
  readonly install: string;
  /** A file with variables of the user, in the form of `.env`. They replace those of the agent's environment. */
  readonly variablesFile?: (environment: Readonly<Record<string, string | undefined>>, home: string) => string;
}

/** A coding agent that `sotto run` can start. */
export interface Agent extends AgentProgram {
  /** Whether it needs `--model`, because it knows no model by itself. */
  readonly needsModel: boolean;
  start(way: AgentWay): AgentStart;
}

/** What one agent needs. Undefined values are left out. */
interface Settings {
  readonly environment?: Readonly<Record<string, string | number | undefined>>;
  readonly args?: readonly string[];
  /** Each is written as JSON. */
  readonly files?: Readonly<Record<string, object>>;
}

interface AgentRow extends AgentProgram {
  readonly knowsModels?: true;
  /** `baseUrl` is that of clients of OpenAI's chat completions. `offered` is the model that was named, then those of the catalog. */
  readonly settings: (way: AgentWay & { readonly baseUrl: string; readonly offered: readonly string[] }) => Settings;
}

/** The option that names the model, if one was named. */
const modelOption = ({ model }: Pick<AgentWay, 'model'>): string[] => (model === undefined ? [] : ['--model', model]);

/** The output tokens that Claude Code reserves by itself. */
const claudeOutput = 32_000;
/** The tokens that Gemini CLI takes every model's context for. */
const geminiContext = 1_048_576;
const tokenVariable = 'SOTTO_LOCAL_TOKEN';
/** Without it, opencode would send a sentence in place of an image. The service refuses images for models that take none. */
const seeing = { attachment: true, modalities: { input: ['text', 'image'], output: ['text'] } } as const;

const rows = {
  /**
   * Claude Code: https://code.claude.com/docs/en/llm-gateway. It speaks Anthropic's Messages. Its own telemetry is turned off. The switch
   * that stops all of its other traffic would stop its list of models, too, so it is left to the user.
   */
  claude: {
    program: 'claude',
    install: 'npm install -g @anthropic-ai/claude-code',
    knowsModels: true,
    settings: ({ origin, token, model, contextLength }) => ({
      environment: {
        ANTHROPIC_BASE_URL: origin,
        ANTHROPIC_AUTH_TOKEN: token,
        // Its settings files have variables, too, which would replace these: another address, or a proxy.
        CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST: '1',
        ANTHROPIC_MODEL: model,
        ANTHROPIC_DEFAULT_MODEL: model,
        ANTHROPIC_DEFAULT_FABLE_MODEL: model,
        ANTHROPIC_DEFAULT_OPUS_MODEL: model,
        ANTHROPIC_DEFAULT_SONNET_MODEL: model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
        CLAUDE_CODE_SUBAGENT_MODEL: model,
        // It takes a model that it does not know for one of a million tokens, and would shorten a conversation too late.
        CLAUDE_CODE_MAX_CONTEXT_TOKENS: contextLength,
        // It keeps this much of the context free for an answer. Its own 32,000 would leave no room for a prompt in a small context.
        CLAUDE_CODE_MAX_OUTPUT_TOKENS:
          contextLength === undefined || contextLength / 4 >= claudeOutput ? undefined : Math.floor(contextLength / 4),
        CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1',
        // After a stream that broke off it would ask again without a stream, and pay twice.
        CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK: '1',
        // It would put a text that differs by request before the prompt, which defeats caches of the prompt.
        CLAUDE_CODE_ATTRIBUTION_HEADER: '0',
        DISABLE_TELEMETRY: '1',
        DISABLE_ERROR_REPORTING: '1',
      },
    }),
  },
  /** Codex: https://developers.openai.com/codex/config. It speaks OpenAI's Responses. Options replace its own configuration for one run. */
  codex: {
    program: 'codex',
    install: 'npm install -g @openai/codex',
    variablesFile: ({ CODEX_HOME }, home) => `${CODEX_HOME || `${home}/.codex`}/.env`,
    settings: ({ baseUrl, token, model, contextLength }) => ({
      environment: { [tokenVariable]: token },
      args: Object.entries({
        model_provider: 'sotto',
        'model_providers.sotto.name': 'Sotto',
        'model_providers.sotto.base_url': baseUrl,
        'model_providers.sotto.wire_api': 'responses',
        'model_providers.sotto.env_key': tokenVariable,
        'analytics.enabled': false,
        model,
        model_context_window: contextLength,
      }).flatMap(([name, value]) => (value === undefined ? [] : ['-c', `${name}=${JSON.stringify(value)}`])),
    }),
  },
  /**
   * Gemini CLI: https://geminicli.com/docs. It speaks Google's API. The run has a home folder of its own, because the user's settings could
   * sign in to Google, and only root can write settings above those. A project's settings count in folders that the user trusts.
   */
  gemini: {
    program: 'gemini',
    install: 'npm install -g @google/gemini-cli',
    settings: ({ origin, token, model, contextLength, folder }) => ({
      environment: {
        GOOGLE_GEMINI_BASE_URL: origin,
        GEMINI_API_KEY: token,
        GEMINI_API_KEY_AUTH_MECHANISM: 'x-goog-api-key',
        GEMINI_CLI_HOME: folder,
        GEMINI_TELEMETRY_ENABLED: 'false',
      },
      args: modelOption({ model }),
      files: {
        '.gemini/settings.json': {
          security: { auth: { selectedType: 'gemini-api-key' } },
          privacy: { usageStatisticsEnabled: false },
          telemetry: { enabled: false },
          // It shortens a conversation at this part of a context that it believes to be of a million tokens.
          model: contextLength && { compressionThreshold: Math.min(0.5, (contextLength / geminiContext) * 0.6) },
        },
      },
    }),
  },
  /**
   * opencode: https://opencode.ai/docs/config. Its configuration is merged with the user's own and the project's. The project cannot
   * lift the list of providers, so an agent of the project that names another provider fails.
   */
  opencode: {
    program: 'opencode',
    install: 'npm install -g opencode-ai',
    settings: ({ baseUrl, token, model, offered }) => {
      const named = model === undefined ? undefined : `sotto/${model}`;
      const sotto = {
        npm: '@ai-sdk/openai-compatible',
        name: 'Sotto',
        options: { baseURL: baseUrl, apiKey: token },
        models: Object.fromEntries(offered.map((id) => [id, { name: id, ...seeing }])),
      };
      const content = { enabled_providers: ['sotto'], provider: { sotto }, model: named, small_model: named };
      return { environment: { OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...content, share: 'disabled' }) } };
    },
  },
  /**
   * Cline's command: https://docs.cline.bot/cline-cli/cli-reference. It runs with a data folder of its own, because it would otherwise
   * start a process in the background, which outlives the run and would serve the user's next session with this run's provider.
   */
  cline: {
    program: 'cline',
    install: 'npm install -g cline',
    settings: ({ baseUrl, token, model, contextLength, folder }) => ({
      // It reads this file before it knows of the folder.
      environment: { CLINE_GLOBAL_SETTINGS_PATH: `${folder}/settings/global-settings.json` },
      args: ['--data-dir', folder, '--provider', 'openai-compatible', ...modelOption({ model })],
      files: {
        'settings/providers.json': {
          ...{ version: 1, lastUsedProvider: 'openai-compatible', modes: {} },
          providers: {
            'openai-compatible': {
              settings: {
                ...{ provider: 'openai-compatible', apiKey: token, baseUrl, model, contextWindow: contextLength },
              },
              updatedAt: '1970-01-01T00:00:00.000Z',
              tokenSource: 'manual',
            },
          },
        },
        // Without the user's settings, Cline would run every tool unasked, which they may have forbidden.
        'settings/global-settings.json': { telemetryOptOut: true, toolAutoApprove: false },
      },
    }),
  },
  /** Continue's command `cn`: https://docs.continue.dev/cli. Its configuration is YAML, of which JSON is a part. */
  continue: {
    program: 'cn',
    install: 'npm install -g @continuedev/cli',
    settings: ({ baseUrl, token, model: named, contextLength, offered, folder }) => ({
      args: ['--config', `${folder}/continue.yaml`],
      files: {
        'continue.yaml': {
          ...{ name: 'Sotto', version: '1.0.0', schema: 'v1' },
          models: (named === undefined ? offered : [named]).map((model) => ({
            ...{ name: model, provider: 'openai', model, apiBase: baseUrl, apiKey: token },
            roles: ['chat', 'edit', 'apply'],
            capabilities: ['tool_use'],
            defaultCompletionOptions: named && contextLength && { contextLength },
          })),
        },
      },
    }),
  },
  /**
   * pi: https://pi.dev/docs. It reads its providers from a folder, so the run has a folder of its own. Extensions are off, because one
   * of the project could replace the provider.
   */
  pi: {
    program: 'pi',
    install: 'npm install -g @earendil-works/pi-coding-agent',
    settings: ({ baseUrl, token, model, contextLength, offered, folder }) => ({
      environment: { PI_CODING_AGENT_DIR: folder, [tokenVariable]: token, PI_TELEMETRY: '0' },
      args: ['--no-extensions', '--provider', 'sotto', ...modelOption({ model })],
      files: {
        'models.json': {
          providers: {
            sotto: {
              ...{ baseUrl, api: 'openai-completions', apiKey: token },
              models: offered.map((id) => ({
                ...{ id, name: id, input: ['text', 'image'] },
                contextWindow: id === model ? contextLength : undefined,
              })),
            },
          },
        },
      },
    }),
  },
  /**
   * Qwen Code: https://qwenlm.github.io/qwen-code-docs. Its system settings override those of the user and the project, by which
   * it could send content to another service.
   */
  qwen: {
    program: 'qwen',
    install: 'npm install -g @qwen-code/qwen-code',
    settings: ({ baseUrl, token, model, offered, folder }) => ({
      environment: {
        OPENAI_BASE_URL: baseUrl,
        OPENAI_API_KEY: token,
        OPENAI_MODEL: model,
        QWEN_CODE_SYSTEM_SETTINGS_PATH: `${folder}/system.json`,
        QWEN_TELEMETRY_ENABLED: 'false',
        QWEN_USAGE_STATISTICS_ENABLED: 'false',
      },
      args: ['--auth-type', 'openai'],
      files: {
        'system.json': {
          modelProviders: { openai: offered.map((id) => ({ id, baseUrl, envKey: 'OPENAI_API_KEY' })) },
          telemetry: { enabled: false },
        },
      },
    }),
  },
  /** Goose: https://goose-docs.ai. Variables override its own configuration, and keep the token out of the keyring. */
  goose: {
    program: 'goose',
    install: 'brew install block-goose-cli',
    settings: ({ origin, baseUrl, token, model, contextLength }) => ({
      environment: {
        GOOSE_PROVIDER: 'openai',
        OPENAI_HOST: origin,
        OPENAI_BASE_URL: baseUrl,
        OPENAI_BASE_PATH: 'v1/chat/completions',
        OPENAI_API_KEY: token,
        GOOSE_MODEL: model,
        GOOSE_CONTEXT_LIMIT: contextLength,
        GOOSE_DISABLE_KEYRING: '1',
        GOOSE_TELEMETRY_OFF: '1',
      },
    }),
  },
} as const satisfies Readonly<Record<string, AgentRow>>;

/** The agents that `sotto run` can start, by the name that it takes. */
export const agents: Readonly<Record<string, Agent>> = Object.fromEntries(
  Object.entries<AgentRow>(rows).map(([name, { settings, knowsModels = false, ...program }]) => {
    const start = (way: AgentWay): AgentStart => {
      const offered = [...new Set([...(way.model === undefined ? [] : [way.model]), ...way.models])];
      const { environment = {}, args = [], files = {} } = settings({ ...way, baseUrl: `${way.origin}/v1`, offered });
      const set = Object.entries(environment).flatMap(([variable, value]) =>
        value === undefined ? [] : [[variable, String(value)] as const],
      );
      const written = Object.entries(files).map(([file, content]) => [file, JSON.stringify(content)] as const);
      return { environment: Object.fromEntries(set), args, files: Object.fromEntries(written) };
    };
    return [name, { ...program, needsModel: !knowsModels, start }];
  }),
);
