import { type ChatBody, type ChatToolChoice, type ReadTools, unreadable } from '../chat-body.ts';
import { asObject, asObjects, asString, type JsonObject } from '../json.ts';
import { chatName, ToolNames } from '../tool-names.ts';
import { builtInOf, builtInTools } from './built-in-tools.ts';

/** Reads the tools that the caller runs. Those of a namespace are offered under one flat name each. */
export function readTools(value: unknown): ReadTools {
  const read: ReadTools = { tools: [], names: new ToolNames(), dropped: [] };
  for (const tool of asObjects(value) ?? []) addTool(read, tool, undefined);
  return read;
}

function addTool(read: ReadTools, tool: JsonObject, namespace: string | undefined): void {
  switch (tool.type) {
    case 'function':
    case 'custom':
      addOwnTool(read, tool, { kind: tool.type, namespace });
      return;
    case 'namespace':
      for (const inner of asObjects(tool.tools) ?? []) addTool(read, inner, asString(tool.name));
      return;
    default:
      addBuiltIn(read, tool);
  }
}

function addOwnTool(
  { tools, names }: ReadTools,
  tool: JsonObject,
  { kind, namespace }: { readonly kind: 'function' | 'custom'; readonly namespace: string | undefined },
): void {
  const own = { kind, name: asString(tool.name) ?? '', namespace };
  if (names.has(chatName(own))) return;
  tools.push({
    type: 'function',
    function: {
      name: names.add(own),
      description: kind === 'custom' ? customDescription(tool) : asString(tool.description),
      parameters: kind === 'custom' ? customParameters : asObject(tool.parameters),
      strict: tool.strict === true || undefined,
    },
  });
}

function addBuiltIn({ tools, names, dropped }: ReadTools, tool: JsonObject): void {
  const kind = builtInOf(tool);
  if (kind === undefined) dropped.push(asString(tool.type) ?? 'unnamed');
  else if (!names.has(kind)) {
    const { description, parameters } = builtInTools[kind];
    const name = names.add({ kind, name: kind, namespace: undefined });
    tools.push({ type: 'function', function: { name, description, parameters } });
  }
}

/** A custom tool becomes a function with this one parameter. */
const customParameters = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
};

/** A chat cannot force a grammar, so the model is told to follow it. */
function customDescription(tool: JsonObject): string {
  const format = asObject(tool.format);
  const definition = asString(format?.definition);
  const grammar =
    definition === undefined
      ? []
      : [`The input must follow this ${asString(format?.syntax) ?? ''} grammar:`, definition];
  return [asString(tool.description) ?? '', ...grammar].filter((text) => text !== '').join('\n\n');
}

/** Reads `tool_choice` and `parallel_tool_calls`. Throws if the choice forces a hosted tool. */
export function readToolChoice(
  request: JsonObject,
  read: ReadTools,
): Pick<ChatBody, 'tools' | 'tool_choice' | 'parallel_tool_calls'> {
  const choice = asObject(request.tool_choice);
  const allowed = choice?.type === 'allowed_tools' ? asObjects(choice.tools) : undefined;
  const allowedNames = allowed && new Set<string | undefined>(allowed.map(nameOfChoice));
  const tools = read.tools.filter((tool) => allowedNames?.has(tool.function.name) ?? true);
  const chosen = readChoice(allowed === undefined ? request.tool_choice : choice?.mode);
  if (tools.length === 0) return {};
  const parallel = request.parallel_tool_calls;
  return {
    tools,
    tool_choice: chosen,
    parallel_tool_calls: typeof parallel === 'boolean' ? parallel : undefined,
  };
}

function readChoice(value: unknown): ChatToolChoice | undefined {
  if (value === 'auto' || value === 'none' || value === 'required') return value;
  const choice = asObject(value);
  if (choice === undefined) return undefined;
  const name = nameOfChoice(choice);
  if (name !== undefined) return { type: 'function', function: { name } };
  const message = `\`tool_choice\` forces \`${asString(choice.type) ?? ''}\`, a hosted tool. This service runs no tools.`;
  throw unreadable(message, 'tool_choice');
}

/** The name in the chat of a tool that is chosen. Undefined for a hosted tool. */
function nameOfChoice(choice: JsonObject): string | undefined {
  return choice.type === 'function' || choice.type === 'custom'
    ? chatName({ name: asString(choice.name) ?? '', namespace: asString(choice.namespace) })
    : builtInOf(choice);
}
