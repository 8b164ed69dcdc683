import { type ChatBody, type ChatTool, type ReadTools, unreadable } from '../chat-body.ts';
import { asArray, asObject, asObjects, asString, type JsonObject } from '../json.ts';
import { chatName, ToolNames } from '../tool-names.ts';
import { field } from './fields.ts';
import { jsonSchema } from './json-schema.ts';

/** Reads the functions that the caller runs. */
export function readTools(request: JsonObject): ReadTools {
  const names = new ToolNames();
  const offered = asObjects(request.tools) ?? [];
  const tools = offered.flatMap((tool) => (asObjects(field(tool, 'functionDeclarations')) ?? []).map(readTool(names)));
  const isFunctions = /^function_?declarations$/i;
  const dropped = offered.flatMap((tool) => Object.keys(tool).filter((name) => !isFunctions.test(name)));
  return { tools, names, dropped };
}

const readTool =
  (names: ToolNames) =>
  (declared: JsonObject): ChatTool => {
    const google = asObject(declared.parameters);
    return {
      type: 'function',
      function: {
        name: names.add({ kind: 'function', name: asString(declared.name) ?? '', namespace: undefined }),
        description: asString(declared.description),
        parameters: asObject(field(declared, 'parametersJsonSchema')) ?? (google && jsonSchema(google)),
      },
    };
  };

/** Reads `tools` and `toolConfig`. Functions that the caller does not allow are left out. */
export function readToolConfig(request: JsonObject, { tools }: ReadTools): Pick<ChatBody, 'tools' | 'tool_choice'> {
  const calling = asObject(field(asObject(field(request, 'toolConfig')), 'functionCallingConfig'));
  const allowed = asArray(field(calling, 'allowedFunctionNames'))?.map((name) => chatName({ name: String(name) }));
  const offered = tools.filter((tool) => allowed?.includes(tool.function.name) ?? true);
  if (offered.length === 0) return {};
  switch (asString(calling?.mode)?.toUpperCase() ?? 'AUTO') {
    case 'ANY':
      return { tools: offered, tool_choice: 'required' };
    case 'NONE':
      return { tools: offered, tool_choice: 'none' };
    case 'AUTO':
    case 'VALIDATED':
    case 'MODE_UNSPECIFIED':
      return { tools: offered };
    default: {
      const param = 'toolConfig.functionCallingConfig.mode';
      throw unreadable(`\`${param}\` must be AUTO, ANY, NONE or VALIDATED.`, param);
    }
  }
}
