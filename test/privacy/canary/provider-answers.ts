import type { ProviderHandler } from '../../kit/provider.ts';
import { content, said } from './markers.ts';

const own = { id: said.ProviderId, created: 1, model: said.ProviderId, system_fingerprint: said.ProviderId };
/** Headers of a provider that must not reach clients. */
const secretHeaders = {
  'x-request-id': said.ProviderHeader,
  'set-cookie': said.ProviderHeader,
  'x-note': said.ProviderHeader,
};
const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30, note: said.ProviderId };
const toolCalls = [
  {
    index: 0,
    id: 'call_2',
    type: 'function',
    function: { name: 'look_up', arguments: `{"q":"${said.ToolArguments}"}` },
  },
];
const frame = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
export const delta = (piece: object, finish: string | null = null): string =>
  frame({ ...own, object: 'chat.completion.chunk', choices: [{ index: 0, delta: piece, finish_reason: finish }] });

export const painted = Buffer.from(`a picture of ${said.Painted}`).toString('base64');

/** Answers every request correctly, with a marker wherever one can be. */
export const answersWell: ProviderHandler = (request, response) => {
  if (request.path.endsWith('/speech')) {
    response.writeHead(200, { 'content-type': 'audio/mpeg', ...secretHeaders });
    response.end(said.Spoken);
  } else if (request.path.endsWith('/images/generations')) {
    response.writeHead(200, { 'content-type': 'application/json', ...secretHeaders });
    const image = { b64_json: painted, revised_prompt: said.ErrorText };
    response.end(JSON.stringify({ ...own, data: [image], usage }));
  } else if (request.path.endsWith('/embeddings')) {
    response.writeHead(200, { 'content-type': 'application/json', ...secretHeaders });
    response.end(JSON.stringify({ ...own, object: 'list', data: [{ index: 0, embedding: [0.25] }], usage }));
  } else if (request.body.stream === true) {
    response.writeHead(200, { 'content-type': 'text/event-stream', ...secretHeaders });
    response.write(delta({ role: 'assistant', reasoning_content: said.Reasoning }));
    for (let piece = 0; piece < 5; piece += 1) response.write(delta({ content: ` ${said.Answer}` }));
    response.write(delta({ refusal: said.Refusal }));
    response.write(delta({ tool_calls: toolCalls }, 'tool_calls'));
    response.write(frame({ ...own, choices: [], usage }));
    response.end('data: [DONE]\n\n');
  } else {
    response.writeHead(200, { 'content-type': 'application/json', ...secretHeaders });
    const message = {
      role: 'assistant',
      content: said.Answer,
      reasoning_content: said.Reasoning,
      refusal: said.Refusal,
      tool_calls: toolCalls,
    };
    response.end(JSON.stringify({ ...own, choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage }));
  }
};

const echo = {
  message: `${said.ErrorMessage}: you sent ${content.Prompt}`,
  code: said.ErrorCode,
  type: said.ErrorCode,
  param: said.ErrorParam,
};

const sayFailure =
  (status: number, type = 'application/json', body = JSON.stringify({ error: echo })): ProviderHandler =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': type, 'retry-after': said.ProviderHeader, ...secretHeaders });
    response.end(body);
  };

/** Starts a stream that then breaks. */
const breakStream =
  (last: string): ProviderHandler =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', ...secretHeaders });
    response.write(delta({ content: said.Answer }));
    response.write(last, () => response.socket?.destroySoon());
  };

/** The ways in which a provider can fail. Each answer quotes the request and adds the provider's own words. */
export const failures: readonly (readonly [string, ProviderHandler])[] = [
  ...[400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 503].map(
    (status) => [`status ${status}`, sayFailure(status)] as const,
  ),
  ['a page of HTML', sayFailure(502, 'text/html', `<h1>${said.ErrorText} ${content.Prompt}</h1>`)],
  [
    'a refusal of the content',
    sayFailure(400, 'application/json', JSON.stringify({ error: { ...echo, code: 'content_filter' } })),
  ],
  ['a long story', sayFailure(400, 'text/plain', said.ErrorText.repeat(5000))],
  ['an error under status 200', sayFailure(200)],
  ['no JSON under status 200', sayFailure(200, 'application/json', `{"choices": [${said.ErrorText}`)],
  ['another type of content', sayFailure(200, said.ErrorText, said.ErrorText)],
  [
    'a redirect',
    (_request, response) => {
      response.writeHead(307, { location: `/${said.ErrorText}` }).end(said.ErrorText);
    },
  ],
  ['an error event at first', sayFailure(200, 'text/event-stream', frame({ error: echo }))],
  ['a line that is no event', sayFailure(200, 'text/event-stream', `{"error":{"message":"${said.ErrorText}"}}\n\n`)],
  ['an error event in the middle', breakStream(frame({ error: { ...echo, message: said.MidStream } }))],
  ['no JSON in the middle', breakStream(`data: {"choices": [${said.MidStream}\n\n`)],
  ['a break in the middle', breakStream('')],
  ['a reset', (_request, response) => void response.socket?.resetAndDestroy()],
  ['silence', () => {}],
];
