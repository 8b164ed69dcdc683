import type { Bytes, RandomBytes } from './bytes.ts';
import type { TextChat } from './text-chat.ts';

/** What a family seals one chat request with. */
export interface SealingInput<Key> {
  readonly key: Key;
  readonly chat: TextChat;
  readonly random: RandomBytes;
  /** Unix milliseconds. */
  readonly now: number;
}

/** Opens what comes back, once: a stream or a whole reply. Text in and out is server-sent events or JSON. */
export interface ReplyOpener {
  /** Judges the response headers, before any of the body: throws where they show that the reply is not encrypted. */
  begin(headers: Headers): Promise<void>;
  openWhole(body: Bytes): Promise<string>;
  /** Takes bytes of the reply in any split; gives the events that they complete. */
  push(bytes: Bytes): Promise<string>;
  /** The reply's body has ended: throws `e2ee_reply_truncated` where it was not complete. */
  end(): Promise<string>;
  /** Erases the keys. Called once, whatever happened. */
  close(): void;
}

/** A request as it leaves, and what opens its reply. */
export interface Sealing {
  /** Headers for the provider, lower case. The broker passes them on byte for byte. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Bytes;
  readonly opener: ReplyOpener;
}

/** One provider family's way of encrypting a chat end to end. */
export interface E2eeFamily<Key> {
  seal(input: SealingInput<Key>): Promise<Sealing>;
}
