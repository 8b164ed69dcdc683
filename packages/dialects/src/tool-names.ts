import { createHash } from 'node:crypto';

/** A tool as the caller knows it. A custom tool takes free text instead of JSON. The others have items of their own. */
export interface NamedTool {
  readonly kind: 'function' | 'custom' | 'apply_patch' | 'shell' | 'local_shell';
  readonly name: string;
  readonly namespace: string | undefined;
}

/** Whether OpenAI's models know the tool by its type. */
export const isBuiltIn = (
  tool: NamedTool,
): tool is NamedTool & { readonly kind: Exclude<NamedTool['kind'], 'function' | 'custom'> } =>
  tool.kind !== 'function' && tool.kind !== 'custom';

/** Longest name that every provider takes. */
const maxLength = 64;

/**
 * The name of a tool in a chat, which has no namespaces and takes only 64 letters, digits, `_` and `-`. The same tool has
 * the same name in every request, so that earlier calls in a conversation keep theirs.
 */
export function chatName({ name, namespace }: Pick<NamedTool, 'name'> & Partial<Pick<NamedTool, 'namespace'>>): string {
  const whole = namespace === undefined ? name : `${namespace}${/[_-]$/.test(namespace) ? '' : '__'}${name}`;
  const plain = whole.replace(/[^a-zA-Z0-9_-]/g, '_');
  if (plain === whole && whole.length <= maxLength) return whole;
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, 8);
  return `${plain.slice(0, maxLength - digest.length - 1)}_${digest}`;
}

/** The tools of a request by their names in the chat. Reads the calls of an answer back. */
export class ToolNames {
  readonly #tools = new Map<string, NamedTool>();

  add(tool: NamedTool): string {
    const name = chatName(tool);
    this.#tools.set(name, tool);
    return name;
  }

  has(name: string): boolean {
    return this.#tools.has(name);
  }

  /** Returns the tool that a call names. A model may name one that was never offered. */
  named(name: string): NamedTool {
    return this.#tools.get(name) ?? { kind: 'function', name, namespace: undefined };
  }
}
