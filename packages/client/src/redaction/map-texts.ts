import { parseExact } from '@sotto/dialects';
import type { JsonObject } from '@sotto/wire';

type MapText = (text: string) => string;

/** Fields that the service or the provider reads as they are. Their texts are not the user's. */
const ofProtocol = new Set(
  'model models provider role type id tool_call_id signature data encrypted_content reasoning_effort service_tier'.split(
    ' ',
  ),
);
/** Images, sounds and files. */
const media = new Set(['image_url', 'input_audio', 'file', 'video_url']);
/** What has a name that the model calls it by. */
const named = new Set(['function', 'json_schema', 'custom']);

/** Returns a chat request with each of its texts replaced. An object without a change is returned as it is. */
export const mapTexts = (request: JsonObject, map: MapText): JsonObject => mapped(request, '', map) as JsonObject;

function mapped(value: unknown, within: string, map: MapText): unknown {
  if (typeof value === 'string') return within === 'arguments' ? mapArguments(value, map) : map(value);
  return mapMembers(value, (name, member) =>
    ofProtocol.has(name) || media.has(name) || (name === 'name' && named.has(within))
      ? member
      : // A list is read as its items would be.
        mapped(member, Array.isArray(value) ? within : name, map),
  );
}

/** The arguments of a tool call are JSON in a string. Within it, all texts are content. */
function mapArguments(text: string, map: MapText): string {
  const parsed = parseExact(text);
  if (typeof parsed !== 'object' || parsed === null) return map(text);
  const changed = mapEvery(parsed, map);
  return changed === parsed ? text : JSON.stringify(changed);
}

const mapEvery = (value: unknown, map: MapText): unknown =>
  typeof value === 'string' ? map(value) : mapMembers(value, (_, member) => mapEvery(member, map));

function mapMembers(value: unknown, map: (name: string, member: unknown) => unknown): unknown {
  if (typeof value !== 'object' || value === null || JSON.isRawJSON?.(value)) return value;
  let isChanged = false;
  const change = (name: string, member: unknown): unknown => {
    const next = map(name, member);
    if (next !== member) isChanged = true;
    return next;
  };
  if (Array.isArray(value)) {
    const list = value.map((member) => change('', member));
    return isChanged ? list : value;
  }
  const object = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(name, member)]));
  return isChanged ? object : value;
}

/** Whether a request has parts whose text `mapTexts` does not see. */
export const hasMedia = (request: JsonObject): boolean => {
  let found = false;
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      if (media.has(name)) found = true;
      else look(member);
    }
  };
  look(request.messages);
  return found;
};
