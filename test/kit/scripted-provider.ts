import type { ServerResponse } from 'node:http';
import { type FakeProvider, type ProviderHandler, type SeenRequest, sendJson, startProvider } from './provider.ts';

/** What a provider shall do with one request. */
export type Act =
  | {
      readonly kind: 'answer';
      /** As it stands in the answer; null: none is reported. */
      readonly usage: object | null;
      readonly text?: string;
      /** In how many pieces a stream says the text; default: one a word. */
      readonly pieces?: number;
      readonly pieceMs?: number;
      /** Before anything is answered. */
      readonly delayMs?: number;
      /** Only after `open()` of the provider's gate. */
      readonly gated?: boolean;
      /** Stops for good before the usage of a stream, without closing. */
      readonly withholdUsage?: boolean;
      /** Says the usage with the first piece, too, as some providers do. */
      readonly earlyUsage?: object;
    }
  | { readonly kind: 'status'; readonly status: number; readonly message?: string }
  /** Resets the connection: before anything, or after so many pieces of a stream. */
  | { readonly kind: 'break'; readonly afterPieces?: number; readonly usage?: object }
  | { readonly kind: 'silence' };

/** What the providers shall do, by their ids; `'*'` for the others. Without a word for it a provider answers 500. */
export type Script = Readonly<Record<string, Act>>;

const text = 'Four words of text, and then some more of them.';

/** The content of a message that tells the providers what to do; `salt` makes it unlike any other. */
export const scripted = (script: Script, salt = ''): string => JSON.stringify({ script, salt });

export interface ScriptedProvider extends FakeProvider {
  /** Lets the gated answers go, those that are waiting and those to come. */
  open(): void;
  close(): void;
  /** How it answers unless a test has it answer otherwise. */
  readonly script: ProviderHandler;
  /** Salts of the requests whose answer left us to the end. */
  readonly answered: Set<string>;
}

/** A provider that does what the last message of a request says. Several may note in one set what they `answered`. */
export async function startScriptedProvider(id: string, answered = new Set<string>()): Promise<ScriptedProvider> {
  let waiting: (() => void)[] | undefined = [];
  const gate = (): Promise<void> =>
    waiting === undefined ? Promise.resolve() : new Promise((resolve) => void waiting?.push(resolve));
  const follow: ProviderHandler = async (request, response) => {
    const { script, salt } = readScript(request);
    const act = script[id] ?? script['*'] ?? { kind: 'status', status: 500 };
    switch (act.kind) {
      case 'status':
        return sendJson(response, act.status, { error: { message: act.message ?? 'RAW-PROVIDER-ERROR' } });
      case 'silence':
        return;
      case 'break':
        return breakOff(response, request.body.stream === true ? act.afterPieces : undefined, act.usage);
      case 'answer': {
        if (act.gated) await gate();
        if (act.delayMs) await pause(act.delayMs);
        response.once('finish', () => answered.add(salt));
        return answer(request, response, act);
      }
      default:
        return act satisfies never;
    }
  };
  const provider = await startProvider(follow);
  return {
    baseUrl: provider.baseUrl,
    seen: provider.seen,
    get openSockets() {
      return provider.openSockets;
    },
    answer: (handler) => provider.answer(handler),
    stop: () => provider.stop(),
    answered,
    script: follow,
    open() {
      const held = waiting ?? [];
      waiting = undefined;
      for (const go of held) go();
    },
    close() {
      waiting ??= [];
    },
  };
}

function readScript({ body }: SeenRequest): { script: Script; salt: string } {
  const messages = body.messages as { content: string }[] | undefined;
  const input = Array.isArray(body.input) ? body.input[0] : body.input;
  const said = messages?.at(-1)?.content ?? input;
  try {
    return JSON.parse(String(said)) as { script: Script; salt: string };
  } catch {
    return { script: {}, salt: '' };
  }
}

const identity = { id: 'provider-own-id', created: 1_700_000_000, model: 'own-name', system_fingerprint: 'fp' };

const chunk = (choice: object | undefined, more: object = {}): string =>
  `data: ${JSON.stringify({ ...identity, object: 'chat.completion.chunk', choices: choice === undefined ? [] : [{ index: 0, ...choice }], ...more })}\n\n`;

async function answer(
  request: SeenRequest,
  response: ServerResponse,
  act: Extract<Act, { kind: 'answer' }>,
): Promise<void> {
  const { usage } = act;
  const reported = usage === null ? {} : { usage };
  if (request.path.endsWith('/embeddings')) {
    const data = [{ object: 'embedding', index: 0, embedding: [0.5, -0.25] }];
    return sendJson(response, 200, { object: 'list', model: 'own-name', data, ...reported });
  }
  const content = act.text ?? text;
  if (request.body.stream !== true) {
    const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' };
    return sendJson(response, 200, { ...identity, object: 'chat.completion', choices: [choice], ...reported });
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(chunk({ delta: { role: 'assistant', content: '' }, finish_reason: null }));
  for (const [index, piece] of piecesOf(content, act.pieces).entries()) {
    if (response.destroyed) return;
    const early = index === 0 && act.earlyUsage !== undefined ? { usage: act.earlyUsage } : {};
    response.write(chunk({ delta: { content: piece }, finish_reason: null }, early));
    if (act.pieceMs) await pause(act.pieceMs);
  }
  response.write(chunk({ delta: {}, finish_reason: 'stop' }));
  if (act.withholdUsage) return;
  if (usage !== null) response.write(chunk(undefined, { usage }));
  response.end('data: [DONE]\n\n');
}

function piecesOf(content: string, pieces: number | undefined): string[] {
  if (pieces === undefined) return content.match(/\s*\S+/g) ?? [content];
  const size = Math.ceil(content.length / pieces);
  return Array.from({ length: pieces }, (_, index) => content.slice(index * size, (index + 1) * size));
}

async function breakOff(response: ServerResponse, afterPieces: number | undefined, usage?: object): Promise<void> {
  if (afterPieces === undefined) {
    response.socket?.resetAndDestroy();
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let index = 0; index < afterPieces; index += 1) {
    response.write(
      chunk({ delta: { content: ` piece ${index}` }, finish_reason: null }, usage === undefined ? {} : { usage }),
    );
    await pause(1);
  }
  response.socket?.resetAndDestroy();
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
