import fc from 'fast-check';

/** All secret content contains this marker. If the wire shows it in any encoding, content has leaked. */
const marker = 'CANARY-7f3a9c';

const secretText = fc
  .tuple(fc.string({ unit: 'grapheme', maxLength: 20 }), fc.string({ unit: 'grapheme', maxLength: 20 }))
  .map(([before, after]) => before + marker + after);
const secretList = fc.array(secretText, { maxLength: 2 }).map((texts) => JSON.stringify([marker, ...texts]));
const part = fc.oneof(
  { weight: 12, arbitrary: secretText.map((text) => ({ type: 'text', text })) },
  secretText.map((url) => ({ type: 'image_url', image_url: { url } })),
  secretText.map((data) => ({ type: 'input_audio', input_audio: { data } })),
  secretText.map((text) => ({ type: 'text', text, cache_control: { note: text } })),
  secretText,
);
const content = fc.oneof(
  { weight: 24, arbitrary: secretText },
  { weight: 6, arbitrary: secretList },
  fc.array(part, { maxLength: 3 }),
  secretText.map((text) => ({ text })),
  fc.constant(null),
);
const stray = fc.record(
  {
    name: secretText,
    tool_calls: secretText.map((text) => [{ id: text, type: 'function', function: { name: text, arguments: text } }]),
    tool_call_id: secretText,
    function_call: secretText.map((text) => ({ name: text, arguments: text })),
    refusal: secretText,
    reasoning_content: secretText,
    reasoning: secretText,
    audio: secretText.map((id) => ({ id })),
    attachments: secretText.map((text) => [{ text }]),
    annotations: secretText.map((text) => [{ text }]),
  },
  { requiredKeys: [] },
);
const message = fc
  .tuple(
    fc.oneof(
      { weight: 48, arbitrary: fc.constantFrom('system', 'developer', 'user', 'assistant') },
      fc.constant('tool'),
      secretText,
    ),
    content,
    fc.oneof({ weight: 24, arbitrary: fc.constant({}) }, stray),
    fc.dictionary(secretText, secretText, { maxKeys: 1, noNullPrototype: true }),
    fc.integer({ min: 0, max: 24 }),
  )
  .map(([role, said, extra, own, dice]) => ({ role, content: said, ...extra, ...(dice === 0 ? own : {}) }));
const top = fc.record(
  {
    tools: secretText.map((text) => [{ type: 'function', function: { name: 'f', description: text } }]),
    tool_choice: secretText,
    functions: secretText.map((name) => [{ name }]),
    response_format: secretText.map((name) => ({ type: 'json_schema', json_schema: { name } })),
    stop: fc.oneof(secretText, fc.array(secretText)),
    user: secretText,
    metadata: fc.dictionary(secretText, secretText, { noNullPrototype: true }),
    prediction: secretText.map((text) => ({ type: 'content', content: text })),
    logit_bias: fc.dictionary(secretText, fc.nat(), { noNullPrototype: true }),
    plugins: fc.array(secretText),
    temperature: fc.oneof(fc.double({ noNaN: true, min: 0, max: 2 }), secretText),
    reasoning_effort: fc.oneof(fc.constant('low'), secretText),
    provider: secretText,
    models: fc.array(secretText),
    venice_parameters: secretText.map((text) => ({ character_slug: text })),
    stream_options: fc.oneof(
      fc.constant({ include_usage: true }),
      secretText.map((text) => ({ note: text })),
    ),
  },
  { requiredKeys: [] },
);
/** Bodies of chat requests of every shape, valid and invalid, with the marker in every field that can hold content. */
export const secretChat = fc
  .tuple(
    fc.array(message, { minLength: 1, maxLength: 4 }),
    fc.oneof({ weight: 6, arbitrary: fc.constant({}) }, top),
    fc.boolean(),
  )
  .map(([messages, extra, stream]) => ({ ...extra, model: 'acme/small', messages, stream }));

const spellings = [
  marker,
  Buffer.from(marker).toString('hex'),
  ...[0, 1, 2].map((shift) => {
    const base64 = Buffer.from(' '.repeat(shift) + marker).toString('base64');
    return base64.slice(shift === 0 ? 0 : 4, base64.length - 4);
  }),
];

/** Returns the spellings of the marker that appear on the wire. */
export function leaksIn(wire: string): string[] {
  const lower = wire.toLowerCase();
  return spellings.filter((spelling) => wire.includes(spelling) || lower.includes(spelling.toLowerCase()));
}
