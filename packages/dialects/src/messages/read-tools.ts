import { type ChatBody, type ChatTool, type ReadTools, unreadable } from '../chat-body.ts';
import { asObject, asObjects, asString, type JsonObject } from '../json.ts';
import { chatName, ToolNames } from '../tool-names.ts';
import { cacheMark } from './read-content.ts';

/** Reads the tools that the caller runs and describes with a schema, as they are at the end of the conversation. */
export function readTools(request: JsonObject): ReadTools {
  const tools: ChatTool[] = [];
  const names = new ToolNames();
  const dropped: string[] = [];
  for (const tool of offeredTools(request)) {
    const parameters = asObject(tool.input_schema);
    const isOwn = tool.type == null || tool.type === 'custom';
    if (isOwn && parameters !== undefined) tools.push(readTool(tool, parameters, names));
    else dropped.push(asString(tool.name) ?? asString(tool.type) ?? 'unnamed');
  }
  return { tools, names, dropped };
}

/** The tools of the request, with what blocks within the conversation have added and removed since. */
function offeredTools(request: JsonObject): readonly JsonObject[] {
  const tools = new Map((asObjects(request.tools) ?? []).map((tool) => [tool.name ?? tool.type, tool]));
  const removed = new Set<unknown>();
  for (const { content } of asObjects(request.messages) ?? []) {
    for (const block of asObjects(content) ?? []) {
      if (block.type !== 'tool_addition' && block.type !== 'tool_removal') continue;
      const changed = asObject(block.tool);
      const definition = asObject(changed?.definition);
      const name = definition?.name ?? changed?.name;
      if (definition !== undefined) tools.set(name, definition);
      if (block.type === 'tool_removal') removed.add(name);
      else removed.delete(name);
    }
  }
  return [...tools].flatMap(([name, tool]) => (removed.has(name) ? [] : [tool]));
}

const readTool = (tool: JsonObject, parameters: JsonObject, names: ToolNames): ChatTool => ({
  type: 'function',
  function: {
    name: names.add({ kind: 'function', name: asString(tool.name) ?? '', namespace: undefined }),
    description: asString(tool.description),
    parameters,
    strict: tool.strict === true || undefined,
  },
  ...cacheMark(tool),
});

/** Reads `tool_choice`. Throws if it forces a tool that was dropped: the answer could not be what it asks for. */
export function readToolChoice(
  value: unknown,
  { tools, dropped }: ReadTools,
): Pick<ChatBody, 'tool_choice' | 'parallel_tool_calls'> {
  const choice = asObject(value);
  const name = asString(choice?.name);
  if (choice?.type === 'tool' && name !== undefined && dropped.includes(name)) {
    const message = `\`tool_choice\` forces \`${name}\`, a tool of the vendor. This service runs no tools.`;
    throw unreadable(message, 'tool_choice');
  }
  if (choice === undefined || tools.length === 0) return {};
  const parallel = choice.disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {};
  switch (choice.type) {
    case 'any':
      return { tool_choice: 'required', ...parallel };
    case 'none':
      return { tool_choice: 'none' };
    case 'tool':
      return { tool_choice: { type: 'function', function: { name: chatName({ name: name ?? '' }) } }, ...parallel };
    default:
      return { tool_choice: 'auto', ...parallel };
  }
}
