import type { Snippet, SnippetFacts } from './snippet.ts';

interface AgentFacts {
  /** As `sotto run` takes it. */
  readonly id: string;
  readonly name: string;
  /** The command that installs it. */
  readonly install: string;
}

/** The coding agents with a tab of their own. */
const mainAgents: readonly AgentFacts[] = [
  { id: 'claude', name: 'Claude Code', install: 'npm install -g @anthropic-ai/claude-code' },
  { id: 'codex', name: 'Codex', install: 'npm install -g @openai/codex' },
];

const otherAgents: readonly AgentFacts[] = [
  { id: 'gemini', name: 'Gemini CLI', install: 'npm install -g @google/gemini-cli' },
  { id: 'opencode', name: 'opencode', install: 'npm install -g opencode-ai' },
  { id: 'cline', name: 'Cline', install: 'npm install -g cline' },
  { id: 'continue', name: 'Continue', install: 'npm install -g @continuedev/cli' },
  { id: 'pi', name: 'pi', install: 'npm install -g @earendil-works/pi-coding-agent' },
  { id: 'qwen', name: 'Qwen Code', install: 'npm install -g @qwen-code/qwen-code' },
  { id: 'goose', name: 'Goose', install: 'brew install block-goose-cli' },
];

/** Whether an origin is on this machine, where the client may accept simulated evidence. */
export const isHere = (origin: string): boolean =>
  /^https?:\/\/(?:localhost|127(?:\.\d+){3}|\[::1\])(?::|$)/.test(origin);

/** The command of the client. A person whose machine runs the service has the folder of Sotto, and it works there. */
export const sottoCommand = (confidentialOrigin: string): string =>
  isHere(confidentialOrigin) ? 'npm run -s sotto --' : 'sotto';

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

function runSnippet({ id, name, install }: AgentFacts, facts: SnippetFacts): Snippet {
  const { controlOrigin, confidentialOrigin, key, model } = facts;
  return {
    id,
    name,
    text: `Private flow: sotto verifies the broker, then runs ${name} in your terminal. A conversation stays with the provider whose cache has it, unless you add --warm-caches off. --max-cost 5 limits the run to 5 USD, and --bill bill.json writes what each chat cost. With --prove-tool-calls the agent gets only tool calls that a receipt proves. With --redact, most names and secrets are replaced before they leave your machine. ${isHere(confidentialOrigin) ? 'Run it in the folder of Sotto. In the folder of your own project, type npm --prefix SOTTO run -s sotto, where SOTTO is the path of that folder.' : 'Install sotto from a checkout first: npm run package && npm install -g ./packages/client/dist/package'}`,
    code: `${install}
export BASE_URL=${confidentialOrigin}/v1
export CONTROL_URL=${controlOrigin}/v1
export INFERENCE_KEY=${key}
${sottoCommand(confidentialOrigin)} run ${id} --model ${model}${isHere(confidentialOrigin) ? ' --allow-simulated' : ''}`,
  };
}
