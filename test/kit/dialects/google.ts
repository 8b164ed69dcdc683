import * as z from 'zod';
import { type Asked, type AskedTurn, type Dialect, emptyTurn, one, type Says, sse, words } from './dialect.ts';

const thoughtSignature = z.string().optional();
const text = z.strictObject({ text: z.string().min(1), thoughtSignature });
const inlineData = z.strictObject({ inlineData: z.strictObject({ mimeType: z.string(), data: z.base64() }) });
const functionCall = z.strictObject({
  functionCall: z.strictObject({ name: z.string(), args: z.looseObject({}) }),
  thoughtSignature,
});
const functionResponse = z.strictObject({
  functionResponse: z.strictObject({ name: z.string(), response: z.looseObject({}) }),
});
const modes = ['AUTO', 'ANY', 'NONE', 'VALIDATED'] as const;

/** The fields of `models.generateContent` that we send, from https://ai.google.dev/api/generate-content. */
const requestSchema = z.strictObject({
  systemInstruction: z.strictObject({ parts: z.array(z.strictObject({ text: z.string() })).min(1) }).optional(),
  contents: z
    .array(
      z.discriminatedUnion('role', [
        z.strictObject({
          role: z.literal('user'),
          parts: z.array(z.union([text, inlineData, functionResponse])).min(1),
        }),
        z.strictObject({ role: z.literal('model'), parts: z.array(z.union([text, functionCall])).min(1) }),
      ]),
    )
    .min(1),
  tools: z
    .array(
      z.strictObject({
        functionDeclarations: z.array(
          z.strictObject({
            name: z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/),
            description: z.string(),
            parametersJsonSchema: z.looseObject({}).optional(),
          }),
        ),
      }),
    )
    .optional(),
  toolConfig: z
    .strictObject({
      functionCallingConfig: z.strictObject({
        mode: z.enum(modes),
        allowedFunctionNames: z.array(z.string()).optional(),
      }),
    })
    .optional(),
  generationConfig: z.strictObject({
    maxOutputTokens: z.int().min(1),
    temperature: z.number().min(0).max(2).optional(),
    topP: z.number().optional(),
    seed: z.int().optional(),
    presencePenalty: z.number().optional(),
    frequencyPenalty: z.number().optional(),
    stopSequences: z.array(z.string()).max(5).optional(),
    responseMimeType: z.literal('application/json').optional(),
    responseJsonSchema: z.looseObject({}).optional(),
    thinkingConfig: z
      .strictObject({
        includeThoughts: z.literal(true).optional(),
        thinkingBudget: z.int().min(0).optional(),
        thinkingLevel: z.enum(['minimal', 'low', 'medium', 'high']).optional(),
      })
      .optional(),
  }),
});
type Body = z.infer<typeof requestSchema>;

function turnOf({ role, parts }: Body['contents'][number]): AskedTurn {
  const turn = emptyTurn();
  for (const part of parts) {
    if ('text' in part) turn.text += part.text;
    else if ('inlineData' in part) turn.images.push(part.inlineData.mimeType);
    else if ('functionCall' in part) turn.calls.push(part.functionCall);
    else turn.results.push(String(part.functionResponse.response.output));
    if ('thoughtSignature' in part && part.thoughtSignature !== undefined) turn.signatures.push(part.thoughtSignature);
  }
  return { side: role === 'user' ? 'user' : 'model', ...turn };
}

/**
 * Checks the rules of the API that the schema cannot express: a result follows its call, and a turn's first call is
 * signed.
 */
function checkBody({ contents }: Body, model: string): void {
  for (const [index, { role, parts }] of contents.entries()) {
    const before = contents[index - 1]?.parts ?? [];
    const answered = parts.flatMap((part) => ('functionResponse' in part ? [part.functionResponse.name] : []));
    const asked = before.flatMap((part) => ('functionCall' in part ? [part.functionCall.name] : []));
    if (JSON.stringify(answered) !== JSON.stringify(role === 'user' ? asked : []))
      throw new Error('each call needs its response next');
    const first = parts.find((part) => 'functionCall' in part);
    if (!model.includes('gemini-2') && first !== undefined && first.thoughtSignature === undefined)
      throw new Error('a function call is missing a thought_signature');
  }
}

const usageOf = ({ usage: { fresh, cached = 0, written = 0, output, reasoning } }: Says): object => ({
  promptTokenCount: fresh + cached + written,
  ...(cached === 0 ? {} : { cachedContentTokenCount: cached }),
  ...(output === 0 ? {} : { candidatesTokenCount: output }),
  ...(reasoning === undefined ? {} : { thoughtsTokenCount: reasoning }),
  totalTokenCount: fresh + cached + written + output + (reasoning ?? 0),
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: fresh }],
});

const endings = { stop: 'STOP', length: 'MAX_TOKENS', refusal: 'SAFETY' } as const;

const response = (says: Says, parts: readonly object[], more: object = {}): object => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }],
  usageMetadata: usageOf(says),
  modelVersion: 'LEAK-model',
  responseId: 'LEAK-id',
});

const callParts = ({ calls = [], reasoning }: Says): object[] =>
  calls.map((functionCall, index) => ({
    functionCall,
    ...(index === 0 && reasoning !== undefined ? { thoughtSignature: reasoning.signature } : {}),
  }));

const path = /^\/v1beta\/models\/([^:]+):(generateContent|streamGenerateContent\?alt=sse)$/;

export const googleDialect: Dialect = {
  adapter: 'google',
  basePath: '/v1beta',
  streamType: 'text/event-stream',
  modelOf: ({ path: asked }) => decodeURIComponent(path.exec(asked)?.[1] ?? ''),
  asked({ path: asked, headers, text: raw }): Asked {
    const [, encoded, method] = path.exec(asked) ?? [];
    if (encoded === undefined) throw new Error(`no such path: ${asked}`);
    if (headers.authorization !== undefined) throw new Error('the key goes into x-goog-api-key');
    const model = decodeURIComponent(encoded);
    const body = requestSchema.parse(JSON.parse(raw));
    checkBody(body, model);
    const calling = body.toolConfig?.functionCallingConfig;
    const choice = { AUTO: 'auto', VALIDATED: 'auto', ANY: 'required', NONE: 'none' }[calling?.mode ?? 'AUTO'];
    return {
      model,
      stream: method !== 'generateContent',
      key: one(headers, 'x-goog-api-key'),
      system: (body.systemInstruction?.parts ?? []).map((part) => part.text).join('\n'),
      turns: body.contents.map(turnOf),
      tools: (body.tools ?? []).flatMap((tool) => tool.functionDeclarations.map(({ name }) => name)),
      toolChoice: calling?.allowedFunctionNames?.[0] ?? choice,
      schema: body.generationConfig.responseJsonSchema,
      maxTokens: body.generationConfig.maxOutputTokens,
      temperature: body.generationConfig.temperature,
      stop: body.generationConfig.stopSequences ?? [],
    };
  },
  whole(says) {
    const { text: said, reasoning, finish = 'stop' } = says;
    const parts = [
      ...(reasoning === undefined ? [] : [{ text: reasoning.text, thought: true }]),
      ...(said === undefined ? [] : [{ text: said }]),
      ...callParts(says),
    ];
    return response(says, parts, { finishReason: endings[finish] });
  },
  stream(says) {
    const early = { ...says, usage: { ...says.usage, output: 1 } };
    return {
      head: [sse({ usageMetadata: usageOf(early), modelVersion: 'LEAK-model' })],
      pieces: [
        ...words(says.reasoning?.text ?? '').map((word) => sse(response(early, [{ text: word, thought: true }]))),
        ...words(says.text ?? '').map((word) => sse(response(early, [{ text: word }]))),
        ...callParts(says).map((part) => sse(response(early, [part]))),
      ],
      tail: [sse(response(says, [{ text: '' }], { finishReason: endings[says.finish ?? 'stop'] }))],
    };
  },
  error: (code, message) => ({ error: { code, message, status: 'LEAK' } }),
  refusal: {
    status: 200,
    body: {
      promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
      usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 },
      modelVersion: 'LEAK',
    },
  },
  streamError: (message) => sse({ error: { code: 503, message, status: 'UNAVAILABLE' } }),
};
