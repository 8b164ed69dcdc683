type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An empty list of calls says as little as none: some clients send it beside the legacy form. */
const isEmpty = (calls: unknown): boolean => calls == null || (Array.isArray(calls) && calls.length === 0);

const isLegacy = (message: unknown): boolean =>
  isFields(message) && (message.role === 'function' || message.function_call != null);

/**
 * Rewrites the messages of a conversation that OpenAI's `functions` began: `function_call` becomes a tool call, and a
 * message of the role `function` answers it by the id made here. Each message keeps its place. A message that cannot be
 * rewritten stays as it is, for the schema to refuse. Returns the same list where nothing is to be rewritten.
 */
export function withToolCalls(messages: unknown): unknown {
  if (!Array.isArray(messages) || !messages.some(isLegacy)) return messages;
  let open: { readonly id: string; readonly name: unknown } | undefined;
  return messages.map((message: unknown, at) => {
    if (!isFields(message)) return message;
    if (message.role === 'function') {
      if (open === undefined || open.name !== message.name) return message;
      const { id } = open;
      open = undefined;
      return { role: 'tool', tool_call_id: id, content: message.content ?? '' };
    }
    const { function_call: call, ...rest } = message;
    if (message.role !== 'assistant' || !isFields(call) || !isEmpty(rest.tool_calls)) return message;
    const id = `function_call_${at}`;
    open = { id, name: call.name };
    return { ...rest, tool_calls: [{ id, type: 'function', function: call }] };
  });
}
