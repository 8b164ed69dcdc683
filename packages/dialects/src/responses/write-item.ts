import { type AnswerBlock, type BlockStart, requireArguments } from '../answer-blocks.ts';
import { sealReasoning } from '../reasoning-envelope.ts';
import type { ToolNames } from '../tool-names.ts';
import { builtInTools } from './built-in-tools.ts';
import { customInput } from './custom-input.ts';

/** The id of an item: its kind, the id of its answer, and its place. */
export const itemId = (block: BlockStart, names: ToolNames, answerId: string, index: number): string =>
  `${prefixOf(block, names)}_${answerId}_${index}`;

function prefixOf(block: BlockStart, names: ToolNames): string {
  if (block.kind === 'reasoning') return 'rs';
  if (block.kind !== 'call') return 'msg';
  return prefixes[names.named(block.name).kind];
}

const prefixes = { function: 'fc', custom: 'ctc', apply_patch: 'apc', shell: 'sh', local_shell: 'lsh' } as const;

/** Writes an item before its text: the start of what `doneItem` writes. */
export function startedItem(block: BlockStart, id: string, names: ToolNames): object {
  switch (block.kind) {
    case 'reasoning':
      return { id, type: 'reasoning', summary: [], encrypted_content: null };
    case 'call':
      return callItem(block, { id, names, status: 'in_progress', text: undefined });
    default:
      return { id, type: 'message', status: 'in_progress', role: 'assistant', content: [] };
  }
}

/** Writes a whole item. */
export function doneItem(block: AnswerBlock, id: string, names: ToolNames): object {
  switch (block.kind) {
    case 'reasoning':
      return { id, type: 'reasoning', summary: summaryOf(block.text), encrypted_content: sealReasoning(block) };
    case 'call':
      return callItem(block, { id, names, status: 'completed', text: block.text });
    default:
      return { id, type: 'message', status: 'completed', role: 'assistant', content: [contentPart(block)] };
  }
}

export const summaryOf = (text: string): object[] => (text === '' ? [] : [{ type: 'summary_text', text }]);

/** Writes the one part of a message. */
export const contentPart = ({ kind, text }: Extract<AnswerBlock, { kind: 'text' | 'refusal' }>): object =>
  kind === 'refusal'
    ? { type: 'refusal', refusal: text }
    : { type: 'output_text', text, annotations: [], logprobs: [] };

interface CallParts {
  readonly id: string;
  readonly names: ToolNames;
  readonly status: string;
  /** The arguments, once they are whole. */
  readonly text: string | undefined;
}

function callItem(call: Extract<BlockStart, { kind: 'call' }>, { id, names, status, text }: CallParts): object {
  const { kind, name, namespace } = names.named(call.name);
  if (kind !== 'function' && kind !== 'custom') {
    const args = requireArguments(text ?? '', kind);
    return { id, type: `${kind}_call`, status, call_id: call.id, ...builtInTools[kind].write(args) };
  }
  const named = { status, call_id: call.id, name, ...(namespace === undefined ? {} : { namespace }) };
  return kind === 'custom'
    ? { id, type: 'custom_tool_call', ...named, input: text === undefined ? '' : customInput(text) }
    : { id, type: 'function_call', ...named, arguments: text === undefined ? '' : text || '{}' };
}
