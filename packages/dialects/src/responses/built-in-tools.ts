import { asArray, asObject, asString, type JsonObject } from '../json.ts';

/** A tool that OpenAI's models know by its type, and that the caller runs. A chat offers it as a function. */
interface BuiltInTool {
  readonly description: string;
  readonly parameters: JsonObject;
  /** Writes the arguments of a call as the fields of its item. */
  readonly write: (args: JsonObject) => JsonObject;
  /** Reads the arguments back. */
  readonly read: (item: JsonObject) => JsonObject;
}

const texts = { type: 'array', items: { type: 'string' } };
const whole = { type: 'integer' };

/** @see https://platform.openai.com/docs/guides/tools-apply-patch and https://platform.openai.com/docs/guides/tools-shell */
export const builtInTools = {
  apply_patch: {
    description:
      'Creates, updates or deletes one file. `diff` is a V4A diff: for a new file every line begins with `+`; for an ' +
      'update, hunks begin with `@@` and lines with a space, `-` or `+`. Leave it empty to delete a file.',
    parameters: {
      type: 'object',
      properties: {
        type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
        path: { type: 'string' },
        diff: { type: 'string' },
      },
      required: ['type', 'path'],
    },
    write: ({ type, path, diff }) => ({
      operation: { type, path, ...(type === 'delete_file' ? {} : { diff: asString(diff) ?? '' }) },
    }),
    read: ({ operation }) => asObject(operation) ?? {},
  },
  shell: {
    description: 'Runs commands in a shell on the machine of the user.',
    parameters: {
      type: 'object',
      properties: { commands: texts, timeout_ms: whole, max_output_length: whole },
      required: ['commands'],
    },
    write: ({ commands, timeout_ms = null, max_output_length = null }) => ({
      action: { commands: asArray(commands) ?? [], timeout_ms, max_output_length },
    }),
    read: ({ action }) => asObject(action) ?? {},
  },
  local_shell: {
    description: 'Runs one command, given as a list of its words, on the machine of the user.',
    parameters: {
      type: 'object',
      properties: { command: texts, timeout_ms: whole, working_directory: { type: 'string' } },
      required: ['command'],
    },
    write: ({ command, ...more }) => ({ action: { type: 'exec', env: {}, ...more, command: asArray(command) ?? [] } }),
    read: ({ action }) => asObject(action) ?? {},
  },
} as const satisfies Readonly<Record<string, BuiltInTool>>;

export type BuiltInName = keyof typeof builtInTools;

/** The tool of a type, if the caller runs it. A shell in a container of OpenAI is none. */
export function builtInOf({ type, environment }: JsonObject): BuiltInName | undefined {
  const kind = asObject(environment)?.type ?? 'local';
  if (type === 'apply_patch' || type === 'local_shell') return type;
  return type === 'shell' && kind === 'local' ? type : undefined;
}

/** Reads what a built-in tool returned as a text. */
export function builtInOutput({ output, status }: JsonObject): string {
  const text = typeof output === 'string' ? output : JSON.stringify(output ?? '');
  return status === 'failed' ? `Error: ${text}` : text;
}
