/** A kind of body that is expensive to parse or validate for its size. */
export interface CostlyBody {
  readonly name: string;
  readonly path: '/chat/completions' | '/embeddings';
  /** Returns a body of about this size, in bytes. */
  make(model: string, bytes: number): string;
}

/** Repeats an entry up to a size in bytes, as a list without brackets. */
export const listOf = (entry: string, bytes: number): string =>
  `${entry},`.repeat(Math.max(1, Math.floor(bytes / (entry.length + 1)))).slice(0, -1);

/** Returns entries that differ, up to a size in bytes, as a list without brackets. */
export const numbered = (bytes: number, entry: (at: number) => string): string => {
  const entries: string[] = [];
  for (let left = bytes, at = 0; left > 0; at += 1) {
    const next = entry(at);
    entries.push(next);
    left -= next.length + 1;
  }
  return entries.join(',');
};
const names = (bytes: number): string => `{${numbered(bytes, (at) => `"k${at.toString(36)}":0`)}}`;

const chat = (name: string, fields: (bytes: number) => string): CostlyBody => ({
  name,
  path: '/chat/completions',
  make: (model, bytes) => `{"model":"${model}","messages":[{"role":"user","content":"x"}],${fields(bytes)}}`,
});
const says = (name: string, content: (bytes: number) => string, role = 'user'): CostlyBody => ({
  name,
  path: '/chat/completions',
  make: (model, bytes) => `{"model":"${model}","messages":[{"role":"${role}","content":${content(bytes)}}]}`,
});
/** A tool call whose arguments are a JSON text. The body includes the tool, so that every API accepts it. */
const calls = (name: string, argumentsOf: (bytes: number) => string): CostlyBody => ({
  name,
  path: '/chat/completions',
  make(model, bytes) {
    // Inside a text each quotation mark takes two bytes.
    const text = JSON.stringify(argumentsOf(Math.floor(bytes * 0.7)));
    const call = `{"id":"c","type":"function","function":{"name":"f","arguments":${text}}}`;
    const messages = `[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[${call}]}]`;
    return `{"model":"${model}","messages":${messages},${tool('{}')}}`;
  },
});
const embed = (name: string, input: (bytes: number) => string): CostlyBody => ({
  name,
  path: '/embeddings',
  make: (model, bytes) => `{"model":"${model}","input":${input(bytes)}}`,
});
const tool = (parameters: string): string =>
  `"tools":[{"type":"function","function":{"name":"f","parameters":${parameters}}}]`;
const format = (schema: string): string =>
  `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":${schema}}}`;
/** Each definition refers to the one before it. */
const chained = (bytes: number): string => {
  const links = numbered(bytes, (at) => `"d${at + 1}":{"$ref":"#/$defs/d${at}"}`);
  return `{"$defs":{"d0":{},${links}},"$ref":"#/$defs/d1"}`;
};
const nested = (bytes: number): string => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2);

/** Plain text, the baseline for all other bodies of the same size. */
export const plainText: CostlyBody = says('plain text', (bytes) => `"${'lorem ipsum '.repeat(bytes / 12)}"`);

/** Each of these was once expensive, or resembles one that was. */
export const costlyBodies: readonly CostlyBody[] = [
  says('numbers as content', (bytes) => `[${listOf('1', bytes)}]`),
  says('objects as content', (bytes) => `[${listOf('{}', bytes)}]`),
  says('short text parts', (bytes) => `[${listOf('{"type":"text","text":""}', bytes)}]`),
  says('text full of quotes', (bytes) => `"${'\\"'.repeat(bytes / 2)}"`),
  says(
    'an image',
    (bytes) => `[{"type":"image_url","image_url":{"url":"data:image/png;base64,${'A'.repeat(bytes)}"}}]`,
  ),
  says('lists in lists as content', nested),
  calls('empty lists in arguments of a call', (bytes) => `{"a":[${listOf('[]', bytes)}]}`),
  calls('names in arguments of a call', names),
  calls('lists in lists in arguments of a call', (bytes) => `{"a":${nested(bytes)}}`),
  calls('texts in arguments of a call', (bytes) => `{"a":"${'lorem ipsum '.repeat(bytes / 12)}"}`),
  chat('numbers as messages', (bytes) => `"messages":[${listOf('1', bytes)}]`),
  chat('short messages', (bytes) => `"messages":[${listOf('{"role":"user","content":""}', bytes)}]`),
  chat('empty lists in parameters of a tool', (bytes) => tool(`{"a":[${listOf('[]', bytes)}]}`)),
  chat('names in parameters of a tool', (bytes) => tool(names(bytes))),
  chat('short texts in parameters of a tool', (bytes) => tool(`{"enum":[${numbered(bytes, (at) => `"${at}"`)}]}`)),
  chat('numbers in parameters of a tool', (bytes) => tool(`{"enum":[${listOf('1', bytes)}]}`)),
  chat('references in parameters of a tool', (bytes) => tool(chained(bytes))),
  chat('lists in lists in parameters of a tool', (bytes) => tool(`{"a":${nested(bytes)}}`)),
  chat('a long description of a tool', (bytes) => tool(`{"description":"${'x'.repeat(bytes)}"}`)),
  chat('names and texts in parameters of a tool', (bytes) => tool(`{${numbered(bytes, (at) => `"k${at}":"v${at}"`)}}`)),
  chat('empty lists in a schema', (bytes) => format(`{"a":[${listOf('[]', bytes)}]}`)),
  chat('names in a schema', (bytes) => format(names(bytes))),
  chat('references in a schema', (bytes) => format(chained(bytes))),
  chat('references to one part in a schema', (bytes) =>
    format(`{"$defs":{"a":{}},"anyOf":[${listOf('{"$ref":"#/$defs/a"}', bytes)}]}`),
  ),
  chat('empty lists in an unknown field', (bytes) => `"x":[${listOf('[]', bytes)}]`),
  chat('lists in lists in an unknown field', (bytes) => `"x":${nested(bytes)}`),
  chat('unknown fields', (bytes) => names(bytes).slice(1, -1)),
  chat('objects with other names each', (bytes) => `"x":[${numbered(bytes, (at) => `{"k${at}":0}`)}]`),
  chat('unknown fields of `provider`', (bytes) => `"provider":${names(bytes)}`),
  chat('numbers as providers', (bytes) => `"provider":{"only":[${listOf('1', bytes)}]}`),
  chat('parameters of a provider', (bytes) => `"acme_parameters":${names(bytes)}`),
  chat('parameters of many providers', (bytes) => numbered(bytes, (at) => `"p${at}_parameters":{}`)),
  chat('reasoning', (bytes) => `"messages":[{"role":"assistant","reasoning_details":[${listOf('{}', bytes)}]}]`),
  embed('empty lists as input', (bytes) => `[${listOf('[]', bytes)}]`),
  embed('tokens as input', (bytes) => `[[${listOf('100', bytes)}]]`),
  embed('a token and empty lists as input', (bytes) => `[1,${listOf('[]', bytes)}]`),
  embed('short texts as input', (bytes) => `[${listOf('"x"', bytes)}]`),
];
