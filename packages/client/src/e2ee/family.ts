import type { Bytes, RandomBytes } from './bytes.ts';
import type { TextChat } from './text-chat.ts';

/** The input for sealing one chat request. */
export interface SealingInput<Key> {
  readonly key: Key;
  readonly chat: TextChat;
  /** As in `SealOptions`. */
  readonly cacheSecret: string | undefined;
  readonly random: RandomBytes;
  /** Unix milliseconds. */
  readonly now: number;
}

/** Opens one reply, a stream or a whole body. Its output is server-sent events or JSON. */
export interface ReplyOpener {
  /** Checks the response headers before the body is read. Throws if they show that the reply is not encrypted. */
  begin(headers: Headers): Promise<void>;
  openWhole(body: Bytes): Promise<string>;
  /** Takes bytes of the reply in any split. Returns the events that they complete, or a comment if there are none. */
  push(bytes: Bytes): Promise<string>;
  /** Ends the reply's body. Throws `e2ee_reply_truncated` if the reply is not complete. */
  end(): Promise<string>;
  /** Erases the keys. It is called once, after success and after failure. */
  close(): void;
}

/** A sealed request and the opener of its reply. */
export interface Sealing {
  /** Headers for the provider, lower case. The broker forwards them byte for byte. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Bytes;
  readonly opener: ReplyOpener;
}

/** The end-to-end encryption of one provider family. */
export interface E2eeFamily<Key> {
  seal(input: SealingInput<Key>): Promise<Sealing>;
}
