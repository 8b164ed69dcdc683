import { content } from './markers.ts';

const textTool = {
  type: 'function',
  function: {
    name: 'look_up',
    description: `looks up ${content.ToolDescription}`,
    parameters: {
      type: 'object',
      properties: { [content.ToolSchema]: { type: 'string', enum: [content.ToolSchema] } },
    },
  },
};

/** A request with a marker wherever one can be. */
export const fullBody = (more: object = {}): { readonly model: string } & Record<string, unknown> => ({
  model: 'm/two',
  messages: [
    { role: 'system', content: `Be ${content.System}.` },
    { role: 'developer', content: content.Developer },
    // As an error's stack would have it, should anyone look for a place there.
    {
      role: 'user',
      content: `Say ${content.Prompt}\n    at ${content.Prompt} (${content.Prompt}:1:1)`,
      name: content.Name.slice(0, 64),
    },
    {
      role: 'assistant',
      content: content.PastAnswer,
      tool_calls: [
        {
          id: 'call_1',
          type: 'function',
          function: { name: 'look_up', arguments: `{"q":"${content.PastToolArguments}"}` },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: content.ToolResult },
    {
      role: 'user',
      content: [
        { type: 'text', text: content.Prompt },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${content.Image}` } },
      ],
    },
  ],
  tools: [textTool],
  stop: [content.Stop],
  user: content.User,
  max_completion_tokens: 200,
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { title: content.Schema } } },
  alpha_parameters: { bad_words: [content.Parameter] },
  metadata: { note: content.UnknownField },
  [content.UnknownField]: content.UnknownField,
  ...more,
});

export const media = {
  '/images/generations': { model: 'm/paint', prompt: `Paint ${content.Picture}`, user: content.User },
  '/audio/speech': { model: 'm/voice', input: `Say ${content.Speech}`, instructions: content.UnknownField },
} as const;
export const mediaPaths = ['/images/generations', '/audio/speech'] as const;
