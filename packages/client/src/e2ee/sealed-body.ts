import type { TextChat } from './text-chat.ts';

/** The OpenAI-shaped body that families encrypt whole. */
export function sealedBody(chat: TextChat, model: string, extra: Readonly<Record<string, unknown>> = {}): string {
  const streaming = chat.stream ? { stream: true, stream_options: { include_usage: true } } : { stream: false };
  return JSON.stringify({ model, messages: chat.messages, ...chat.settings, ...streaming, ...extra });
}
