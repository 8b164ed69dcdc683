export const chatSeeds = [
  { model: 'a/b', messages: [{ role: 'user', content: 'hi' }] },
  {
    model: '/auto',
    models: ['a/b', 'c/d:nitro'],
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'y' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
        reasoning: 'z',
        reasoning_details: [{ type: 'reasoning.text', text: 't', signature: 's' }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'done' },
      { role: 'developer', content: 'd', name: 'n' },
    ],
    tools: [
      {
        type: 'function',
        function: {
          name: 'f',
          description: 'd',
          parameters: {
            type: 'object',
            properties: { a: { type: ['number', 'null'], anyOf: [{ $ref: '#/$defs/x' }] } },
            $defs: { x: {} },
          },
          strict: true,
        },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'f' } },
    parallel_tool_calls: false,
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: true } },
    temperature: 1,
    top_p: 0.5,
    stop: ['x'],
    seed: 1,
    frequency_penalty: 0,
    presence_penalty: 0,
    max_tokens: 5,
    max_completion_tokens: 5,
    stream: true,
    stream_options: { include_usage: true },
    reasoning_effort: 'low',
    reasoning: { effort: 'low', enabled: true, exclude: false },
    user: 'u',
    n: 1,
    provider: {
      order: ['acme/eu'],
      only: ['acme'],
      ignore: ['other'],
      sort: 'price',
      minimum_privacy: 'private',
      max_price: { input: 1, output: 2 },
      max_attempts: 2,
      allow_fallbacks: true,
      require_parameters: true,
    },
    acme_parameters: { top_k: 3, strip_thinking_response: true },
  },
];

/** Words that readers of requests branch on. */
export const words = `
  role user system assistant tool developer content text type image_url url tool_calls function name arguments
  parameters properties $ref $defs items anyOf enum strict reasoning effort enabled provider only order ignore
  sort price throughput latency minimum_privacy tee e2ee max_price acme/eu acme_parameters
  strip_thinking_response :floor data:image/png;base64, https:// input_audio file refusal cache_control
  json_schema _parameters
`
  .trim()
  .split(/\s+/);
