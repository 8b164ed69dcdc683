import type { ChatTarget } from '../adapter.ts';

/**
 * The expected request: members that it has, a text that it must not contain (`absent`), or the field that causes a
 * refusal.
 */
type Expected = { readonly has?: object; readonly absent?: string } | { readonly refused: string };

export interface Row {
  readonly field: string;
  readonly body: object;
  readonly target?: Partial<ChatTarget>;
  /** Default: `claude-opus-4-6` and similar models, which accept most fields. */
  readonly models?: Partial<Record<Column, string>>;
  /** Default: every member of `body`, unchanged. */
  readonly openai?: Expected;
  readonly anthropic?: Expected;
  readonly google?: Expected;
  readonly bedrock?: Expected;
  /** The default of `anthropic`, `google` and `bedrock`. */
  readonly others?: Expected;
}

export const columns = ['openai', 'anthropic', 'google', 'bedrock'] as const;
export type Column = (typeof columns)[number];

export const models: Readonly<Record<Column, string>> = {
  openai: 'gpt-5',
  anthropic: 'claude-opus-4-6',
  google: 'gemini-3-pro',
  bedrock: 'us.anthropic.claude-opus-4-6-v1:0',
};

export const hi = { role: 'user', content: 'hi' };
export const tool = {
  type: 'function',
  function: { name: 'f', description: 'd', parameters: { type: 'object', properties: {} } },
};
export const call = (args = '{"x":1}') => ({ id: 'c1', type: 'function', function: { name: 'f', arguments: args } });
export const loop = [
  hi,
  { role: 'assistant', content: null, tool_calls: [call()] },
  { role: 'tool', tool_call_id: 'c1', content: 'r' },
];
