import type { ChatBody, ChatTool } from './chat-body.ts';

/** As the broker estimates prompts before it sends them. */
const bytesPerToken = 4;
const tokensPerMessage = 4;
const tokensPerImage = 1000;

/**
 * Estimates the tokens of a prompt on this machine, because counting must neither cost money nor show the prompt to
 * anyone. It counts as the broker does when it compares a prompt with a model's context. That is one token for 4 bytes of
 * UTF-8, 4 for each message and 1,000 for each image. Real counts of English and code are usually within a quarter of it;
 * other scripts differ more.
 */
export function estimateTokens(messages: ChatBody['messages'], tools: readonly ChatTool[]): number {
  const sizes = messages.map(sizeOf);
  const bytes = sizes.reduce((sum, size) => sum + size.bytes, tools.length === 0 ? 0 : bytesOf(JSON.stringify(tools)));
  const images = sizes.reduce((sum, size) => sum + size.images, 0);
  return Math.ceil(bytes / bytesPerToken) + messages.length * tokensPerMessage + images * tokensPerImage;
}

function sizeOf(message: ChatBody['messages'][number]): { readonly bytes: number; readonly images: number } {
  const { content } = message;
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? []);
  const texts: string[] = parts.flatMap((part) => (part.type === 'text' ? part.text : []));
  if (message.role === 'assistant') {
    for (const { function: called } of message.tool_calls ?? []) texts.push(called.name, called.arguments);
  }
  const images = parts.filter(({ type }) => type === 'image_url').length;
  return { bytes: texts.reduce((sum, text) => sum + bytesOf(text), 0), images };
}

const bytesOf = (text: string): number => Buffer.byteLength(text);
