export { type Agent, type AgentStart, agents } from './known-agents.ts';
export { besideProxies, proxyInTheWay } from './proxy-variables.ts';

/**
 * Variables by which agents reach services of other companies. They are left out of the agent's environment: with them, it would
 * send content there, or prefer them to the proxy.
 */
export const foreignKeys: readonly string[] = [
  ...['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL', 'CLAUDE_CODE_OAUTH_TOKEN'],
  ...['BEDROCK', 'VERTEX', 'FOUNDRY', 'MANTLE', 'ANTHROPIC_AWS', 'ANTHROPIC_GOOGLE_CLOUD', 'GATEWAY'].map(
    (service) => `CLAUDE_CODE_USE_${service}`,
  ),
  ...['ANTHROPIC_UNIX_SOCKET', 'ANTHROPIC_FOUNDRY_API_KEY', 'AWS_BEARER_TOKEN_BEDROCK'],
  ...['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_MODEL', 'CODEX_API_KEY', 'AZURE_OPENAI_API_KEY'],
  ...[
    'GEMINI_API_KEY',
    'GOOGLE_API_KEY',
    'GOOGLE_GENAI_USE_VERTEXAI',
    'GOOGLE_GENAI_USE_GCA',
    'GOOGLE_GEMINI_BASE_URL',
  ],
  ...['OPENROUTER_API_KEY', 'GROQ_API_KEY', 'MISTRAL_API_KEY', 'CLINE_API_KEY'],
  ...[
    'DEEPSEEK_API_KEY',
    'XAI_API_KEY',
    'TOGETHER_API_KEY',
    'FIREWORKS_API_KEY',
    'COHERE_API_KEY',
    'DASHSCOPE_API_KEY',
  ],
  // The user's own key to this service is for the proxy alone.
  ...['INFERENCE_KEY', 'MANAGEMENT_KEY'],
];
