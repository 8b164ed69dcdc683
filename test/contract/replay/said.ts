/** The content of an answer, assembled. */
export interface Said {
  text: string;
  reasoning: string;
  /** The calls in the order of their index. */
  readonly calls: { id: string; name: string; args: string }[];
  finish: string | undefined;
  /** The numbers of the OpenAI shape, by their path. */
  usage: Readonly<Record<string, number>>;
}

/** Reads the answers of one API. It deliberately does not use the code under test. */
interface SaidReader {
  whole(body: string): Said;
  stream(payloads: readonly string[]): Said;
}

const nothing = (): Said => ({ text: '', reasoning: '', calls: [], finish: undefined, usage: {} });

/** Normalizes the whitespace in arguments, because it has no meaning. */
export const withEvenArguments = (said: Said): Said => ({
  ...said,
  calls: said.calls.map(({ args, ...call }) => ({
    ...call,
    args: JSON.stringify(JSON.parse(args === '' ? '{}' : args)),
  })),
});

interface OpenAiBody {
  readonly choices: readonly {
    readonly message?: OpenAiMessage;
    readonly delta?: OpenAiMessage;
    readonly finish_reason?: string;
  }[];
  readonly usage?: Readonly<Record<string, number | Record<string, unknown>>> | null;
}

interface OpenAiMessage {
  readonly content?: string | readonly OpenAiPart[] | null;
  readonly reasoning_content?: string | null;
  readonly reasoning?: string | null;
  readonly tool_calls?: readonly { readonly index?: number; readonly id?: string; readonly function: Called }[] | null;
}

interface Called {
  readonly name?: string;
  readonly arguments?: string;
}

type OpenAiPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly thinking: readonly { readonly text: string }[] };

/** OpenAI's API, which is also ours. */
const openai: SaidReader = {
  whole(body) {
    const { choices, usage } = JSON.parse(body) as OpenAiBody;
    const said = nothing();
    addMessage(said, choices[0]?.message ?? {});
    said.finish = choices[0]?.finish_reason;
    said.usage = numbers(usage ?? {});
    return said;
  },
  stream(payloads) {
    const said = nothing();
    for (const payload of payloads) {
      const { choices, usage } = JSON.parse(payload) as OpenAiBody;
      addMessage(said, choices[0]?.delta ?? {});
      said.finish = choices[0]?.finish_reason ?? said.finish;
      if (usage) said.usage = numbers(usage);
    }
    return said;
  },
};

function addMessage(said: Said, { content, reasoning, reasoning_content, tool_calls }: OpenAiMessage): void {
  said.reasoning += reasoning_content ?? reasoning ?? '';
  for (const part of typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? [])) {
    if (part.type === 'thinking') said.reasoning += part.thinking.map(({ text }) => text).join('');
    else said.text += part.text;
  }
  for (const [position, piece] of (tool_calls ?? []).entries()) {
    const at = piece.index ?? position;
    const { id, name, args } = said.calls[at] ?? { id: '', name: '', args: '' };
    said.calls[at] = {
      id: id || (piece.id ?? ''),
      name: name || (piece.function.name ?? ''),
      args: args + (piece.function.arguments ?? ''),
    };
  }
}

function numbers(usage: NonNullable<OpenAiBody['usage']>): Record<string, number> {
  const read: Record<string, number> = {};
  const take = (name: string, value: unknown): void => {
    if (typeof value === 'number') read[name] = value;
  };
  for (const name of ['prompt_tokens', 'completion_tokens', 'total_tokens']) take(name, usage[name]);
  for (const group of ['prompt_tokens_details', 'completion_tokens_details']) {
    for (const [name, value] of Object.entries(usage[group] ?? {})) take(`${group}.${name}`, value);
  }
  // xAI counts reasoning outside the completion. Clients see the count that is charged.
  const { prompt_tokens = 0, completion_tokens = 0, total_tokens = 0 } = read;
  const outside = total_tokens - prompt_tokens - completion_tokens;
  if (outside > 0 && outside === read['completion_tokens_details.reasoning_tokens']) {
    read.completion_tokens = completion_tokens + outside;
  }
  return read;
}

interface Counts {
  readonly fresh?: number;
  readonly cached?: number;
  readonly written?: number;
  readonly completion: number;
  readonly reasoning?: number | undefined;
}

/** Converts the counts of another API to ours. */
function counted({ fresh = 0, cached = 0, written = 0, completion, reasoning }: Counts): Record<string, number> {
  const prompt = fresh + cached + written;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    'prompt_tokens_details.cached_tokens': cached,
    ...(written === 0 ? {} : { 'prompt_tokens_details.cache_write_tokens': written }),
    ...(reasoning === undefined ? {} : { 'completion_tokens_details.reasoning_tokens': reasoning }),
  };
}

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
}

interface MessagesUsage {
  readonly input_tokens?: number;
  readonly cache_creation_input_tokens?: number;
  readonly cache_read_input_tokens?: number;
  readonly output_tokens?: number;
  readonly output_tokens_details?: { readonly thinking_tokens?: number };
}

interface MessagesEvent {
  readonly type: string;
  readonly message?: { readonly usage: MessagesUsage };
  readonly content_block?: Block;
  readonly delta?: Block & { readonly stop_reason?: string; readonly partial_json?: string };
  readonly usage?: MessagesUsage;
}

const stopReasons: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  refusal: 'content_filter',
};

const messagesUsage = (usage: MessagesUsage): Record<string, number> =>
  counted({
    fresh: usage.input_tokens ?? 0,
    cached: usage.cache_read_input_tokens ?? 0,
    written: usage.cache_creation_input_tokens ?? 0,
    completion: usage.output_tokens ?? 0,
    reasoning: usage.output_tokens_details?.thinking_tokens,
  });

/** Anthropic's Messages API. */
const anthropic: SaidReader = {
  whole(body) {
    const { content, stop_reason, usage } = JSON.parse(body) as {
      content: readonly Block[];
      stop_reason: string;
      usage: MessagesUsage;
    };
    const said = nothing();
    for (const block of content) {
      said.text += block.text ?? '';
      said.reasoning += block.thinking ?? '';
      if (block.type === 'tool_use')
        said.calls.push({ id: block.id ?? '', name: block.name ?? '', args: JSON.stringify(block.input) });
    }
    return { ...said, finish: stopReasons[stop_reason], usage: messagesUsage(usage) };
  },
  stream(payloads) {
    const said = nothing();
    let usage: MessagesUsage = {};
    for (const payload of payloads) {
      const { message, content_block: block, delta, usage: told } = JSON.parse(payload) as MessagesEvent;
      usage = { ...usage, ...message?.usage, ...told };
      if (block?.type === 'tool_use') said.calls.push({ id: block.id ?? '', name: block.name ?? '', args: '' });
      said.text += delta?.text ?? '';
      said.reasoning += delta?.thinking ?? '';
      const call = said.calls.at(-1);
      if (call !== undefined) call.args += delta?.partial_json ?? '';
      if (delta?.stop_reason !== undefined) said.finish = stopReasons[delta.stop_reason];
    }
    return { ...said, usage: messagesUsage(usage) };
  },
};

interface Generated {
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly GeminiPart[] };
    readonly finishReason?: string;
  }[];
  readonly usageMetadata: {
    readonly promptTokenCount: number;
    readonly cachedContentTokenCount?: number;
    readonly candidatesTokenCount?: number;
    readonly thoughtsTokenCount?: number;
  };
}

interface GeminiPart {
  readonly text?: string;
  readonly thought?: boolean;
  readonly functionCall?: { readonly name: string; readonly args: unknown };
}

/** Google's Gemini. Its calls have no ids. */
const google: SaidReader = {
  whole: (body) => google.stream([body]),
  stream(payloads) {
    const said = nothing();
    for (const payload of payloads) {
      const { candidates, usageMetadata: usage } = JSON.parse(payload) as Generated;
      for (const part of candidates?.[0]?.content?.parts ?? []) {
        if (part.thought) said.reasoning += part.text ?? '';
        else said.text += part.text ?? '';
        const called = part.functionCall;
        if (called !== undefined) said.calls.push({ id: '', name: called.name, args: JSON.stringify(called.args) });
      }
      const finish = candidates?.[0]?.finishReason;
      if (finish !== undefined)
        said.finish = said.calls.length > 0 ? 'tool_calls' : { STOP: 'stop', MAX_TOKENS: 'length' }[finish];
      const { promptTokenCount, cachedContentTokenCount: cached = 0, thoughtsTokenCount: reasoning } = usage;
      said.usage = counted({
        fresh: promptTokenCount - cached,
        cached,
        completion: (usage.candidatesTokenCount ?? 0) + (reasoning ?? 0),
        reasoning,
      });
    }
    return said;
  },
};

interface ConverseUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens?: number;
  readonly cacheWriteInputTokens?: number;
}

interface ConverseBlock {
  readonly text?: string;
  readonly reasoningContent?: { readonly text?: string; readonly reasoningText?: { readonly text: string } };
  readonly toolUse?: { readonly toolUseId: string; readonly name: string; readonly input?: unknown };
}

interface ConverseEvent {
  readonly contentBlockStart?: { readonly start: ConverseBlock };
  readonly contentBlockDelta?: { readonly delta: ConverseBlock };
  readonly messageStop?: { readonly stopReason: string };
  readonly metadata?: { readonly usage: ConverseUsage };
}

const converseUsage = (usage: ConverseUsage): Record<string, number> =>
  counted({
    fresh: usage.inputTokens,
    cached: usage.cacheReadInputTokens ?? 0,
    written: usage.cacheWriteInputTokens ?? 0,
    completion: usage.outputTokens,
  });

/** Amazon Bedrock's Converse. */
const bedrock: SaidReader = {
  whole(body) {
    const { output, stopReason, usage } = JSON.parse(body) as {
      output: { message: { content: readonly ConverseBlock[] } };
      stopReason: string;
      usage: ConverseUsage;
    };
    const said = nothing();
    for (const { text, reasoningContent: thought, toolUse } of output.message.content) {
      said.text += text ?? '';
      said.reasoning += thought?.reasoningText?.text ?? '';
      if (toolUse !== undefined)
        said.calls.push({ id: toolUse.toolUseId, name: toolUse.name, args: JSON.stringify(toolUse.input) });
    }
    return { ...said, finish: stopReasons[stopReason], usage: converseUsage(usage) };
  },
  stream(payloads) {
    const said = nothing();
    for (const payload of payloads) {
      const { contentBlockStart, contentBlockDelta, messageStop, metadata } = JSON.parse(payload) as ConverseEvent;
      const begun = contentBlockStart?.start.toolUse;
      if (begun !== undefined) said.calls.push({ id: begun.toolUseId, name: begun.name, args: '' });
      const delta = contentBlockDelta?.delta;
      said.text += delta?.text ?? '';
      said.reasoning += delta?.reasoningContent?.text ?? '';
      const call = said.calls.at(-1);
      if (call !== undefined) call.args += String(delta?.toolUse?.input ?? '');
      if (messageStop !== undefined) said.finish = stopReasons[messageStop.stopReason];
      if (metadata !== undefined) said.usage = converseUsage(metadata.usage);
    }
    return said;
  },
};

export const saidReaders = { openai, anthropic, google, bedrock } as const;
