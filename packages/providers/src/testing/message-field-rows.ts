import { call, hi, loop, type Row, tool } from './field-rows.ts';
import { target } from './fixtures.ts';

const shown = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
const image = (url: string) => ({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] });
const imageParam = 'messages.0.content.0.image_url.url';
const cache_control = { type: 'ephemeral', ttl: '1h' };
const cached = {
  messages: [
    { role: 'system', content: [{ type: 'text', text: 's', cache_control }] },
    { role: 'user', content: [{ type: 'text', text: 'u', cache_control }] },
  ],
  tools: [{ ...tool, cache_control }],
};
const details = [
  { type: 'reasoning.text', text: 'hm', signature: 'SIGNED', format: 'anthropic-claude-v1', index: 0 },
  { type: 'reasoning.encrypted', data: 'R09PR0xF', format: 'google-gemini-v1', id: 'c1' },
];
const thought = [
  hi,
  { role: 'assistant', content: null, reasoning: 'THOUGHT', reasoning_details: details, tool_calls: [call()] },
  { role: 'tool', tool_call_id: 'c1', content: 'r' },
];

const reminder = '<system-reminder>\nb\n</system-reminder>';
const longId = 'call-'.repeat(20);
const renamed = [
  hi,
  { role: 'assistant', content: null, tool_calls: [{ ...call(), id: longId }] },
  { role: 'tool', tool_call_id: longId, content: 'r' },
];

/** The fields of messages: their texts, images, tool calls and reasoning. */
export const messageFieldRows: readonly Row[] = [
  {
    field: 'ids of tool calls',
    body: { messages: renamed, tools: [tool] },
    openai: { absent: longId },
    others: { absent: longId },
  },
  {
    field: 'system and developer messages',
    body: { messages: [{ role: 'system', content: 'a' }, hi, { role: 'developer', content: 'b' }] },
    openai: { has: { messages: [{ role: 'system', content: 'a' }, hi, { role: 'system', content: 'b' }] } },
    anthropic: {
      has: { system: [{ text: 'a' }], messages: [{ role: 'user', content: [{ text: 'hi' }, { text: reminder }] }] },
    },
    google: {
      has: {
        systemInstruction: { parts: [{ text: 'a' }] },
        contents: [{ role: 'user', parts: [{ text: 'hi' }, { text: reminder }] }],
      },
    },
    bedrock: {
      has: { system: [{ text: 'a' }], messages: [{ role: 'user', content: [{ text: 'hi' }, { text: reminder }] }] },
    },
  },
  {
    field: 'messages in a row of one side',
    body: { messages: [hi, { role: 'user', content: 'you' }] },
    google: { has: { contents: [{ role: 'user', parts: [{ text: 'hi' }, { text: 'you' }] }] } },
    others: { has: { messages: [{ role: 'user', content: [{ text: 'hi' }, { text: 'you' }] }] } },
  },
  {
    field: 'first message of the assistant',
    body: { messages: [{ role: 'assistant', content: 'Hello!' }, hi] },
    anthropic: { has: { messages: [{ role: 'assistant' }, { role: 'user' }] } },
    google: { has: { contents: [{ role: 'model' }, { role: 'user' }] } },
    bedrock: {
      has: { messages: [{ role: 'user', content: [{ text: '(start)' }] }, { role: 'assistant' }, { role: 'user' }] },
    },
  },
  {
    field: 'image by data URL',
    body: image('data:image/png;base64,AAAA'),
    anthropic: {
      has: {
        messages: [{ content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }] }],
      },
    },
    google: { has: { contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] }] } },
    bedrock: { has: { messages: [{ content: [{ image: { format: 'png', source: { bytes: 'AAAA' } } }] }] } },
  },
  {
    field: 'image by https URL',
    body: image('https://pictures.example/1.png'),
    anthropic: {
      has: {
        messages: [{ content: [{ type: 'image', source: { type: 'url', url: 'https://pictures.example/1.png' } }] }],
      },
    },
    others: { refused: imageParam },
  },
  {
    field: 'images in tool results',
    body: {
      messages: [...loop.slice(0, -1), { ...loop.at(-1), content: [{ type: 'text', text: 'r' }, shown] }],
      tools: [tool],
    },
    openai: {
      has: {
        messages: [
          ...loop.slice(0, -1),
          { ...loop.at(-1), content: [{ type: 'text', text: 'r' }] },
          { role: 'user', content: [{ type: 'text' }, shown] },
        ],
      },
    },
    anthropic: { has: { messages: [{}, {}, { content: [{ type: 'tool_result', content: 'r' }, { type: 'image' }] }] } },
    google: { has: { contents: [{}, {}, { parts: [{ functionResponse: {} }, { inlineData: { data: 'AAAA' } }] }] } },
    bedrock: { has: { messages: [{}, {}, { content: [{ toolResult: {} }, { image: { format: 'png' } }] }] } },
  },
  {
    field: 'tool calls and results',
    body: { messages: loop, tools: [tool] },
    openai: { has: { messages: loop } },
    anthropic: {
      has: {
        messages: [
          {},
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: { x: 1 } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'r' }] },
        ],
      },
    },
    google: {
      has: {
        contents: [
          {},
          { role: 'model', parts: [{ functionCall: { name: 'f', args: { x: 1 } } }] },
          { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'r' } } }] },
        ],
      },
    },
    bedrock: {
      has: {
        messages: [
          {},
          { role: 'assistant', content: [{ toolUse: { toolUseId: 'c1', name: 'f', input: { x: 1 } } }] },
          { role: 'user', content: [{ toolResult: { toolUseId: 'c1', content: [{ text: 'r' }] } }] },
        ],
      },
    },
  },
  {
    field: 'tool arguments that are no JSON object',
    body: { messages: [hi, { role: 'assistant', tool_calls: [call('{"x')] }, loop[2]], tools: [tool] },
    openai: { has: { messages: [{}, { tool_calls: [call('{"x')] }, {}] } },
    others: { refused: 'messages.1.tool_calls.0.function.arguments' },
  },
  {
    field: '`name` of a message',
    body: { messages: [{ ...hi, name: 'ANNA' }] },
    openai: { has: { messages: [{ name: 'ANNA' }] } },
    others: { absent: 'ANNA' },
  },
  {
    field: '`cache_control`',
    body: cached,
    openai: { absent: 'ephemeral' },
    anthropic: {
      has: {
        system: [{ text: 's', cache_control: { type: 'ephemeral' } }],
        messages: [{ content: [{ text: 'u', cache_control: { type: 'ephemeral' } }] }],
        tools: [{ name: 'f', cache_control: { type: 'ephemeral' } }],
      },
      absent: '1h',
    },
    google: { absent: 'ephemeral' },
    bedrock: {
      has: {
        system: [{ text: 's' }, { cachePoint: { type: 'default' } }],
        messages: [{ content: [{ text: 'u' }, { cachePoint: { type: 'default' } }] }],
        toolConfig: { tools: [{ toolSpec: { name: 'f' } }, { cachePoint: { type: 'default' } }] },
      },
      absent: '1h',
    },
  },
  {
    field: '`reasoning_details` of earlier answers',
    body: { messages: thought, tools: [tool] },
    openai: { absent: 'SIGNED' },
    anthropic: {
      has: {
        messages: [
          {},
          { content: [{ type: 'thinking', thinking: 'hm', signature: 'SIGNED' }, { type: 'tool_use' }] },
          {},
        ],
      },
      absent: 'R09PR0xF',
    },
    google: {
      has: { contents: [{}, { parts: [{ functionCall: { name: 'f' }, thoughtSignature: 'R09PR0xF' }] }, {}] },
      absent: 'SIGNED',
    },
    bedrock: {
      has: {
        messages: [
          {},
          { content: [{ reasoningContent: { reasoningText: { text: 'hm', signature: 'SIGNED' } } }, {}] },
          {},
        ],
      },
      absent: 'R09PR0xF',
    },
  },
  {
    field: '`reasoning` of earlier answers',
    body: { messages: thought, tools: [tool] },
    target: { dialect: { ...target().dialect, reasoning_field: 'reasoning_content' } },
    openai: { has: { messages: [{}, { reasoning_content: 'THOUGHT' }, {}] } },
    others: { absent: 'THOUGHT' },
  },
];
