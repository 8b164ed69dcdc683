import type { EnclaveKey } from '../enclave-key.ts';

export interface HeardMessage {
  readonly role: string;
  readonly content: unknown;
}

/** The output of a stand-in's model. Each piece is one chunk of a stream. */
export interface Spoken {
  readonly reasoning?: readonly string[];
  readonly content: readonly string[];
}

export interface EnclaveRequest {
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}

export interface EnclaveAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body, in the pieces that the enclave writes. */
  readonly pieces: readonly Uint8Array[];
}

/**
 * The other end of one family's encryption, for tests: it handles requests as a provider's enclave does. It uses
 * OpenSSL, while the client uses other libraries. It gives no evidence, so the test vouches for its key.
 */
export interface StandInEnclave {
  /** The key as a verifier would find it. For Chutes, each call returns a fresh nonce. */
  nextKey(): EnclaveKey;
  /** Answers as the enclave would. A refused request gets the enclave's status and error. */
  answer(request: EnclaveRequest): Promise<EnclaveAnswer>;
  /** Signs a text with its Ed25519 key, as receipts are. Absent if its key is of another kind. */
  readonly sign?: ((text: string) => Buffer) | undefined;
}

export interface StandInOptions {
  readonly model?: string;
  /** Unix milliseconds. */
  readonly now?: () => number;
  /** Called with the opened body, by the family that seals it whole. */
  readonly hears?: (body: object) => void;
  readonly speak?: (messages: readonly HeardMessage[]) => Spoken;
}

export const standInModel = 'stand-in/model';

export const echo = (messages: readonly HeardMessage[]): Spoken => {
  const said = `You said: ${String(messages.at(-1)?.content)}`;
  return { reasoning: ['Think', 'ing.'], content: said.match(/[\s\S]{1,7}/gu) ?? [] };
};

/** A refusal with the status and error type that the enclave would use. The type is this error's message. */
export class Refusal extends Error {
  readonly status: number;

  constructor(type: string, status = 400) {
    super(type);
    this.status = status;
  }

  answer(): EnclaveAnswer {
    const body = { error: { message: 'refused', type: this.message, code: this.status } };
    return {
      status: this.status,
      headers: { 'content-type': 'application/json' },
      pieces: [Buffer.from(JSON.stringify(body))],
    };
  }
}

export const demand: (condition: boolean, type: string) => asserts condition = (condition, type) => {
  if (!condition) throw new Refusal(type);
};
