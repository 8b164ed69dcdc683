import { vouchForKey } from '../enclave-key.ts';
import { sealChat } from '../seal-chat.ts';
import type { SealedRequest } from '../sealed-request.ts';
import type { EnclaveAnswer, StandInEnclave } from './enclave.ts';

export interface Exchanged {
  readonly sealed: SealedRequest;
  readonly answer: EnclaveAnswer;
}

/** Seals a chat to a stand-in and returns its answer. */
export async function exchange(enclave: StandInEnclave, body: object): Promise<Exchanged> {
  const sealed = await sealChat(vouchForKey(enclave.nextKey()), body);
  const answer = await enclave.answer({ headers: sealed.headers, body: sealed.body });
  return { sealed, answer };
}

/** Opens an answer that arrived whole. */
export async function openWhole({ sealed, answer }: Exchanged): Promise<ShownCompletion> {
  const json = await sealed.openWhole(new Headers({ ...answer.headers }), Buffer.concat(answer.pieces));
  return JSON.parse(json) as ShownCompletion;
}

export interface ShownCompletion {
  readonly model: string;
  readonly choices: readonly {
    readonly message: { readonly content: string | null; readonly reasoning?: string };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: unknown;
}

export interface Shown {
  /** All output before the end or the failure. */
  readonly text: string;
  readonly content: string;
  readonly reasoning: string;
  readonly chunks: readonly ShownChunk[];
  readonly failure: unknown;
}

interface ShownChunk {
  readonly model: string;
  readonly choices: readonly {
    readonly delta: { readonly role?: string; readonly content?: string; readonly reasoning?: string };
  }[];
  readonly usage?: unknown;
}

/** Opens a streamed answer in these pieces. Returns the output that a user would have seen. */
export async function openStream({ sealed, answer }: Exchanged, pieces = answer.pieces): Promise<Shown> {
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new Uint8Array(piece));
      controller.close();
    },
  });
  const decoder = new TextDecoder();
  let text = '';
  let failure: unknown;
  try {
    for await (const out of source.pipeThrough(sealed.openStream(new Headers({ ...answer.headers })))) {
      text += decoder.decode(out, { stream: true });
    }
  } catch (error) {
    failure = error;
  }
  const chunks = text
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice(6)) as ShownChunk);
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
  return {
    text,
    content: deltas.map(({ content }) => content ?? '').join(''),
    reasoning: deltas.map(({ reasoning }) => reasoning ?? '').join(''),
    chunks,
    failure,
  };
}
