import type { Snippet, SnippetFacts } from './snippet.ts';

interface AgentFacts {
  /** As `sotto run` takes it. */
  readonly id: string;
  readonly name: string;
  /** The package that has it. */
  readonly npm: string;
}

/** The coding agents with a tab of their own. */
const mainAgents: readonly AgentFacts[] = [
  { id: 'claude', name: 'Claude Code', npm: '@anthropic-ai/claude-code' },
  { id: 'codex', name: 'Codex', npm: '@openai/codex' },
];

const otherAgents: readonly AgentFacts[] = [
  { id: 'opencode', name: 'opencode', npm: 'opencode-ai' },
  { id: 'cline', name: 'Cline', npm: 'cline' },
  { id: 'continue', name: 'Continue', npm: '@continuedev/cli' },
  { id: 'pi', name: 'pi', npm: '@earendil-works/pi-coding-agent' },
  { id: 'qwen', name: 'Qwen Code', npm: '@qwen-code/qwen-code' },
];

/** Whether an origin is on this machine, where the client may accept simulated evidence. */
export const isHere = (origin: string): boolean =>
  /^https?:\/\/(?:localhost|127(?:\.\d+){3}|\[::1\])(?::|$)/.test(origin);

/** Commands that run a coding agent through the private flow; Cursor can only use compatibility mode. */
export const agentSnippets = (facts: SnippetFacts): readonly Snippet[] => [
  ...mainAgents.map((agent) => runSnippet(agent, facts)),
  {
    id: 'cursor',
    name: 'Cursor',
    text: 'Compatibility mode only: Cursor calls from its own servers, which must reach this address and see your key and content. Enter these values under Cursor Settings, Models.',
    code: `OpenAI API Key            ${facts.key}
Override OpenAI Base URL  ${facts.confidentialOrigin}/v1
Add Custom Model          ${facts.model}`,
  },
  ...otherAgents.map((agent) => ({ ...runSnippet(agent, facts), isOther: true })),
];

function runSnippet({ id, name, npm }: AgentFacts, facts: SnippetFacts): Snippet {
  const { controlOrigin, confidentialOrigin, key, model } = facts;
  return {
    id,
    name,
    text: `Private flow: sotto verifies the broker, then runs ${name} in your terminal. A conversation stays with the provider whose cache has it, unless you add --warm-caches off. Add --max-cost 5 to limit the run to 5 USD, or --bill bill.json to write what each chat cost. Install sotto from a checkout first: npm run package && npm install -g ./packages/client/dist/package`,
    code: `npm install -g ${npm}
export BASE_URL=${confidentialOrigin}/v1
export CONTROL_URL=${controlOrigin}/v1
export INFERENCE_KEY=${key}
sotto run ${id} --model ${model}${isHere(confidentialOrigin) ? ' --allow-simulated' : ''}`,
  };
}
