import type { ServerResponse } from 'node:http';
import { type ProviderHandler, sendJson } from '../../kit/provider.ts';

/** The file that the agent mends, with the text before and after, and what the command prints of it. */
export const task = {
  file: 'greeting.txt',
  before: 'Hello, wrld.',
  after: 'Hello, world.',
  command: 'tr a-z A-Z < greeting.txt',
  printed: 'HELLO, WORLD.',
  prompt: 'Mend the spelling in greeting.txt, then print the file in capitals and tell me what was printed.',
} as const;

/** The usage that each answer of the model states. Its cost follows from it. */
export const usage = { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1020 } as const;

/** The summary that the model gives when an agent shortens a conversation. */
export const summary = 'SUMMARY: nothing is left to do but to say good-bye.';

interface Message {
  readonly role: string;
  readonly content?: unknown;
}

interface Tool {
  readonly name: string;
  readonly parameters?: {
    readonly properties?: Readonly<Record<string, object>>;
    readonly required?: readonly string[];
  };
}

interface Call {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The text of a message, of parts one after the other. */
const textOf = ({ content }: Message): string =>
  typeof content === 'string'
    ? content
    : Array.isArray(content) && content.every((part) => typeof part?.text === 'string')
      ? content.map(({ text }) => text).join('\n')
      : JSON.stringify(content ?? '');

/** Reads the file, edits it, runs the command until its output is there, and tells it: one step for each result of a tool. */
export const doTheTask = (folder: () => string): ProviderHandler =>
  model(({ results, tools }) => {
    const path = `${folder()}/${task.file}`;
    if (results.length === 0) return readFile(tools, path);
    if (results.length === 1) return editFile(tools, path);
    const printed = results.at(-1) ?? '';
    if (printed.includes(task.printed)) return `It printed: ${task.printed}`;
    // Qwen Code on a busy machine may lose what a command prints. A model asks again.
    return results.length < 5 ? runCommand(tools, task.command) : `It printed: ${printed}`;
  });

/**
 * Prints 25 kB a step until the agent shortens the conversation, and then says good-bye. `honest` states the prompt's true
 * length, by which an agent may shorten it in time. Otherwise only the service's refusal tells.
 */
export const fillTheContext = ({ honest }: { readonly honest: boolean }): ProviderHandler =>
  model(
    ({ tools, text }) =>
      text.includes(summary) ? 'Good-bye.' : runCommand(tools, "yes 'a line of output' | head -n 1500"),
    honest,
  );

/** Runs a command for each turn, and then says how many it ran. */
export const countTo = (turns: number): ProviderHandler =>
  model(({ results, tools }) =>
    results.length < turns ? runCommand(tools, `echo turn ${results.length + 1}`) : `Counted to ${turns}.`,
  );

/** Reads an image, and says that it was seen. */
export const lookAt = (path: () => string): ProviderHandler =>
  model(({ results, tools }) =>
    results.length === 0
      ? (callOf(tools, /^view_image$/, { path: path() }) ?? readFile(tools, path()))
      : 'I have seen the image.',
  );

/** Begins an answer that never ends. */
export const neverEnd: ProviderHandler = (_, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const delta = { role: 'assistant', content: 'I begin' };
  const chunk = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'coder-1', object: 'chat.completion.chunk' };
  response.write(`data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`);
};

interface Seen {
  /** The results of the tools so far. */
  readonly results: readonly string[];
  readonly tools: readonly Tool[];
  readonly text: string;
}

export function model(act: (seen: Seen) => Call | string, honest = false): ProviderHandler {
  return ({ body, text }, response) => {
    const messages = body.messages as readonly Message[];
    const tools = ((body.tools ?? []) as readonly { readonly function: Tool }[]).map((tool) => tool.function);
    const results = messages.filter(({ role }) => role === 'tool').map(textOf);
    const last = messages.at(-1);
    // Agents ask for a summary by a last message that says so, and for titles without tools. A
    // shortened conversation begins with a text that mentions the summary, too.
    const asksForSummary = last?.role === 'user' && /summar/i.test(textOf(last)) && !text.includes(summary);
    const said = asksForSummary ? summary : tools.length === 0 ? 'A greeting' : act({ results, tools, text });
    const prompt_tokens = honest ? Math.ceil(text.length / 4) : usage.prompt_tokens;
    const stated = { ...usage, prompt_tokens, total_tokens: prompt_tokens + usage.completion_tokens };
    answer(response, { said, id: `call_${text.length}`, stream: body.stream === true, usage: stated });
  };
}

export const readFile = (tools: readonly Tool[], path: string): Call =>
  callOf(tools, /^(read|read_?file|view)$/i, { path }) ?? runCommand(tools, `cat ${path}`);

const editFile = (tools: readonly Tool[], path: string): Call =>
  callOf(tools, /^(edit|replace_in_file|str_replace)$/i, { path, before: task.before, after: task.after }) ??
  runCommand(tools, `sed -i 's/${task.before}/${task.after}/' ${path}`);

/** A call of the tool with such a name, with these arguments. */
export function callAs(tools: readonly Tool[], name: RegExp, given: Readonly<Record<string, unknown>>): Call {
  const tool = tools.find((offered) => name.test(offered.name));
  if (tool === undefined) throw new Error(`no tool is called so: ${tools.map((each) => each.name).join(', ')}`);
  return { name: tool.name, arguments: given };
}

export function runCommand(tools: readonly Tool[], command: string): Call {
  const call = callOf(tools, /^(bash|shell|exec_command|run_shell_command|execute_command|run_commands)$/i, {
    command,
  });
  if (call === undefined) throw new Error(`no tool runs commands: ${tools.map(({ name }) => name).join(', ')}`);
  return call;
}

/** The names that agents have for the same argument. */
const names: Readonly<Record<string, readonly string[]>> = {
  path: ['file_path', 'filePath', 'filepath', 'absolute_path', 'path'],
  before: ['old_string', 'oldString', 'oldText'],
  after: ['new_string', 'newString', 'newText'],
  command: ['command', 'cmd', 'commands'],
};

/** A call of the first tool with such a name. Its arguments are named as the tool's own schema names them. */
function callOf(tools: readonly Tool[], name: RegExp, values: Readonly<Record<string, string>>): Call | undefined {
  const tool = tools.find((offered) => name.test(offered.name));
  if (tool === undefined) return undefined;
  return { name: tool.name, arguments: argumentsOf(tool.parameters ?? {}, values) };
}

type Schema = NonNullable<Tool['parameters']>;

function argumentsOf(
  { properties = {}, required = [] }: Schema,
  values: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const filled: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(properties) as [
    string,
    { type?: string; items?: Schema & { type?: string } },
  ][]) {
    const value = Object.entries(values).find(([key]) => names[key]?.includes(name))?.[1];
    if (schema.type === 'array' && schema.items !== undefined && (value !== undefined || required.includes(name))) {
      filled[name] = [schema.items.type === 'object' ? argumentsOf(schema.items, values) : value];
    } else if (value !== undefined) filled[name] = value;
    else if (required.includes(name)) filled[name] = schema.type === 'boolean' ? false : 'for the task';
  }
  return filled;
}

interface Answer {
  readonly said: Call | string;
  /** The id of the call. */
  readonly id: string;
  readonly stream: boolean;
  readonly usage: object;
}

function answer(response: ServerResponse, { said, id, stream, usage }: Answer): void {
  const identity = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'coder-1' };
  const isText = typeof said === 'string';
  const content = isText ? said : null;
  const finish_reason = isText ? 'stop' : 'tool_calls';
  const calls = isText
    ? []
    : [{ id, type: 'function', function: { name: said.name, arguments: JSON.stringify(said.arguments) } }];
  const made = calls.length === 0 ? {} : { tool_calls: calls };
  if (!stream) {
    const message = { role: 'assistant', content, ...made };
    sendJson(response, 200, { ...identity, choices: [{ index: 0, message, finish_reason }], usage });
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const pieces = calls.map((call, index) => ({ index, ...call }));
  const delta = { role: 'assistant', content, ...(pieces.length === 0 ? {} : { tool_calls: pieces }) };
  const chunks = [
    { choices: [{ index: 0, delta, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason }] },
    { choices: [], usage },
  ];
  for (const chunk of chunks) {
    response.write(`data: ${JSON.stringify({ ...identity, object: 'chat.completion.chunk', ...chunk })}\n\n`);
  }
  response.end('data: [DONE]\n\n');
}
