import { type AnswerBlock, type BlockStart, isCutOff, requireArguments } from '../answer-blocks.ts';
import { sealReasoning } from '../reasoning-envelope.ts';
import { isBuiltIn, type ToolNames } from '../tool-names.ts';
import { builtInTools } from './built-in-tools.ts';
import { customInput, cutInput } from './custom-input.ts';

/** The id of an item: its kind, the id of its answer, and its place. */
export const itemId = (block: BlockStart, names: ToolNames, answerId: string, index: number): string =>
  `${prefixOf(block, names)}_${answerId}_${index}`;

function prefixOf(block: BlockStart, names: ToolNames): string {
  if (block.kind === 'reasoning') return 'rs';
  if (block.kind !== 'call') return 'msg';
  return prefixes[names.named(block.name).kind];
}

const prefixes = { function: 'fc', custom: 'ctc', apply_patch: 'apc', shell: 'sh', local_shell: 'lsh' } as const;

interface ItemEnd {
  readonly id: string;
  readonly names: ToolNames;
  /** Why the answer ended. Undefined if it goes on behind the item. */
  readonly finishReason: string | null | undefined;
}

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

/**
 * Writes an item at its end. A call that was cut off is incomplete. Undefined for such a call of a built-in tool, whose
 * item has no place for arguments that are not whole.
 */
export function doneItem(block: AnswerBlock, { id, names, finishReason }: ItemEnd): object | undefined {
  switch (block.kind) {
    case 'reasoning':
      return { id, type: 'reasoning', summary: summaryOf(block.text), encrypted_content: sealReasoning(block) };
    case 'call':
      if (!isCutOff(block, finishReason)) return callItem(block, { id, names, status: 'completed', text: block.text });
      return isBuiltIn(names.named(block.name))
        ? undefined
        : callItem(block, { id, names, status: 'incomplete', text: block.text });
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
  /** The arguments, once the call has ended. */
  readonly text: string | undefined;
}

function callItem(call: Extract<BlockStart, { kind: 'call' }>, { id, names, status, text }: CallParts): object {
  const tool = names.named(call.name);
  const { kind, name, namespace } = tool;
  if (isBuiltIn(tool)) {
    const args = requireArguments(text ?? '', tool.kind);
    return { id, type: `${tool.kind}_call`, status, call_id: call.id, ...builtInTools[tool.kind].write(args) };
  }
  const named = { status, call_id: call.id, name, ...(namespace === undefined ? {} : { namespace }) };
  return kind === 'custom'
    ? {
        id,
        type: 'custom_tool_call',
        ...named,
        input: text === undefined ? '' : (status === 'completed' ? customInput : cutInput)(text),
      }
    : { id, type: 'function_call', ...named, arguments: text || (status === 'completed' ? '{}' : '') };
}
