import type { ChatRequest } from '@sotto/wire';
import type { ChatTarget } from '../adapter.ts';

type Message = ChatRequest['messages'][number];
type SystemMessage = Extract<Message, { role: 'system' | 'developer' }>;

/**
 * Joins the system messages at the start, because chat templates of many models refuse a second one. `first` joins all
 * later ones, too. Otherwise those stay at their place, and the provider's cache of the messages before them holds.
 *
 * Developer messages become system messages: not every provider knows the role, and those that do treat both alike. A
 * `name` sets a message apart, as in examples of a conversation, so such a message stays unless the place is `first`.
 */
export function withSystemMessages(
  messages: readonly Message[],
  place: ChatTarget['dialect']['system_messages'],
): Message[] {
  const joined: SystemMessage[] = [];
  const rest: Message[] = [];
  for (const message of messages) {
    if (message.role !== 'system' && message.role !== 'developer') rest.push(message);
    else if (place === 'first' || (rest.length === 0 && message.name == null)) joined.push(message);
    else rest.push({ ...message, role: 'system' });
  }
  return joined.length === 0 ? rest : [{ role: 'system', content: joinedContent(joined) }, ...rest];
}

/** Returns a text if every message has one, otherwise the parts of all. An empty line is between two messages. */
function joinedContent(messages: readonly SystemMessage[]): SystemMessage['content'] {
  const contents = messages.map(({ content }) => content);
  if (contents.every((content) => typeof content === 'string')) return contents.join('\n\n');
  return contents.flatMap((content, at) => {
    const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
    // Servers join the parts of a message without anything between them.
    return at === 0 ? parts : parts.map((part, n) => (n === 0 ? { ...part, text: `\n\n${part.text}` } : part));
  });
}
