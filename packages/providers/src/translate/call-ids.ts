import { createHash } from 'node:crypto';
import type { Message } from '@sotto/wire';

/** The ids of tool calls that an API accepts. */
export interface CallIdForm {
  readonly fits: RegExp;
  /** Returns an id that fits, derived from a text by a hash. */
  made(text: string): string;
}

/** Returns an id that is derived from a text by a hash, which does not reveal the text. */
export const digestedCallId = (text: string): string =>
  `call_${createHash('sha256').update(text).digest('base64url').slice(0, 24)}`;

/** Anthropic's and Bedrock's form. Google's API has no ids. */
export const plainIds: CallIdForm = { fits: /^[a-zA-Z0-9_-]{1,64}$/, made: digestedCallId };

/** OpenAI's form. Other servers of its shape accept it too, and Kimi's models expect their own ids back unchanged. */
export const shortIds: CallIdForm = { fits: /^.{1,40}$/s, made: digestedCallId };

/** Mistral's form: nine letters and digits. */
export const nineAlphanumerics: CallIdForm = {
  fits: /^[a-zA-Z0-9]{9}$/,
  made(text) {
    const digest = createHash('sha256').update(text).digest();
    return Array.from(digest.subarray(0, 9), (byte) => alphanumerics[byte % alphanumerics.length]).join('');
  },
};

const alphanumerics = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/**
 * Gives every tool call of a conversation an id that one API accepts, unique within the request, and its result the
 * same. So a conversation can move to another provider. The new id is a function of the old one and of how often that
 * occurred before, so it stays the same in every later request, which prompt caches need. Nothing is stored.
 */
export function withCallIds(messages: readonly Message[], form: CallIdForm): readonly Message[] {
  const ids = new CallIds(form);
  let isChanged = false;
  const sent = messages.map((message) => {
    const changed = ids.in(message);
    isChanged ||= changed !== message;
    return changed;
  });
  return isChanged ? sent : messages;
}

class CallIds {
  readonly #form: CallIdForm;
  readonly #times = new Map<string, number>();
  readonly #used = new Set<string>();
  /** The new ids of the latest calls with an old id, in order. */
  #open = new Map<string, string[]>();

  constructor(form: CallIdForm) {
    this.#form = form;
  }

  in(message: Message): Message {
    if (message.role === 'assistant' && message.tool_calls?.length) return this.#calling(message, message.tool_calls);
    if (message.role !== 'tool') return message;
    const id = this.#answered(message.tool_call_id);
    return id === message.tool_call_id ? message : { ...message, tool_call_id: id };
  }

  #calling(message: Extract<Message, { role: 'assistant' }>, calls: readonly ToolCall[]): Message {
    for (const { id } of calls) this.#open.delete(id);
    const renamed = new Map<string, string>();
    const sent = calls.map((call) => {
      const id = this.#fresh(call.id);
      this.#open.set(call.id, [...(this.#open.get(call.id) ?? []), id]);
      if (id === call.id) return call;
      renamed.set(call.id, id);
      return { ...call, id };
    });
    if (renamed.size === 0) return message;
    // A detail names the call that it belongs to.
    const details = message.reasoning_details?.map((detail) =>
      detail.id != null && renamed.has(detail.id) ? { ...detail, id: renamed.get(detail.id) } : detail,
    );
    return { ...message, tool_calls: sent, ...(details === undefined ? {} : { reasoning_details: details }) };
  }

  /** The id of the call that a result answers. Several calls of one message may have had the same id. */
  #answered(id: string): string {
    const open = this.#open.get(id);
    if (open === undefined) return this.#form.fits.test(id) ? id : this.#form.made(id);
    return (open.length > 1 ? open.shift() : open[0]) ?? id;
  }

  #fresh(id: string): string {
    const times = this.#times.get(id) ?? 0;
    this.#times.set(id, times + 1);
    let fresh = times === 0 && this.#form.fits.test(id) ? id : this.#form.made(times === 0 ? id : `${id}\n${times}`);
    for (let more = 0; this.#used.has(fresh); more += 1) fresh = this.#form.made(`${id}\n${times}\n${more}`);
    this.#used.add(fresh);
    return fresh;
  }
}

type ToolCall = NonNullable<Extract<Message, { role: 'assistant' }>['tool_calls']>[number];
