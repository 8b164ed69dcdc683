import { parseExact } from '@sotto/dialects';
import { asObject, inOrder, type JsonObject } from '@sotto/wire';

type MapText = (text: string) => string;

/** Fields of the request itself that choose who serves it. */
const ofRouting = new Set(['model', 'models', 'provider']);
/** Texts that the service or the provider reads as they are. */
const ofProtocol = new Set(['role', 'type', 'id', 'tool_call_id', 'signature', 'data', 'encrypted_content']);
/** Parts of a message that have no text, by their type. Each has its content in the field of that name. */
const media = new Set(['image_url', 'input_audio', 'file', 'video_url']);
/** Objects whose name the model uses to call them. */
const named = new Set(['function', 'json_schema', 'custom']);

const isMedia = (part: unknown, name: string): boolean => media.has(name) && asObject(part)?.type === name;

/** Returns a chat request with each of its texts replaced. An object without a change is returned as it is. */
export const mapTexts = (request: JsonObject, map: MapText): JsonObject => mapped(request, '', map) as JsonObject;

function mapped(value: unknown, within: string, map: MapText): unknown {
  if (typeof value === 'string') return within === 'arguments' ? mapArguments(value, map) : map(value);
  return mapMembers(value, (name, member) =>
    isKept(value, within, name)
      ? member
      : // A list is read as its items would be.
        mapped(member, Array.isArray(value) ? within : name, map),
  );
}

function isKept(value: unknown, within: string, name: string): boolean {
  if (within === '' && ofRouting.has(name)) return true;
  if (isMedia(value, name)) return true;
  const isText = typeof asObject(value)?.[name] === 'string';
  return isText && (ofProtocol.has(name) || (name === 'name' && named.has(within)));
}

/** The arguments of a tool call are JSON in a string. Within it, all texts are content, and so are the names of members. */
function mapArguments(text: string, map: MapText): string {
  const parsed = parseExact(text);
  if (typeof parsed !== 'object' || parsed === null) return map(text);
  const changed = mapEvery(parsed, map);
  return changed === parsed ? text : JSON.stringify(changed);
}

const mapEvery = (value: unknown, map: MapText): unknown =>
  typeof value === 'string' ? map(value) : mapMembers(value, (_, member) => mapEvery(member, map), map);

/** Returns a list or an object with its members replaced. The name of an item of a list is its place. */
export function mapMembers(
  value: unknown,
  map: (name: string, member: unknown) => unknown,
  mapName: MapText = (name) => name,
): unknown {
  if (typeof value !== 'object' || value === null || JSON.isRawJSON?.(value)) return value;
  let isChanged = false;
  const change = (name: string, member: unknown): unknown => {
    const next = map(name, member);
    if (next !== member) isChanged = true;
    return next;
  };
  if (Array.isArray(value)) {
    const list = value.map((member, place) => change(String(place), member));
    return isChanged ? list : value;
  }
  const members = new Map<string, unknown>();
  for (const [name, member] of Object.entries(value)) {
    let next = mapName(name);
    // Two names may become equal. Both members stay.
    while (members.has(next)) next += '_';
    if (next !== name) isChanged = true;
    members.set(next, change(name, member));
  }
  return isChanged ? inOrder(members) : value;
}

/** Whether a request has parts whose text `mapTexts` does not see. */
export const hasMedia = (request: JsonObject): boolean => {
  let found = false;
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      if (isMedia(value, name)) found = true;
      else look(member);
    }
  };
  look(request.messages);
  return found;
};
