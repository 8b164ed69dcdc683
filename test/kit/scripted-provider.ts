import type { ServerResponse } from 'node:http';
import { parseJson } from '@sotto/wire';
import { type FakeProvider, type ProviderHandler, type SeenRequest, sendJson, startProvider } from './provider.ts';

/** The behavior of a provider for one request. */
export type Act =
  | {
      readonly kind: 'answer';
      /** Reported unchanged; null means that no usage is reported. */
      readonly usage: object | null;
      readonly text?: string;
      /** The number of pieces of the text in a stream. Default: one per word. */
      readonly pieces?: number;
      readonly pieceMs?: number;
      /** The delay before anything is answered. */
      readonly delayMs?: number;
      /** Waits for `open()` of the provider's gate. */
      readonly gated?: boolean;
      /** Stops before the usage of a stream and never closes the connection. */
      readonly withholdUsage?: boolean;
      /** Also reports this usage with the first piece, as some providers do. */
      readonly earlyUsage?: object;
    }
  | { readonly kind: 'status'; readonly status: number; readonly message?: string; readonly code?: string }
  /** Resets the connection, at once or after this number of pieces of a stream. */
  | { readonly kind: 'break'; readonly afterPieces?: number; readonly usage?: object }
  | { readonly kind: 'silence' };

/** The behavior of the providers by id, with `'*'` for all others. A provider without an entry answers 500. */
export type Script = Readonly<Record<string, Act>>;

const text = 'Four words of text, and then some more of them.';

/** Returns the content of a message that scripts the providers. `salt` makes the content unique. */
export const scripted = (script: Script, salt = ''): string => JSON.stringify({ script, salt });

export interface ScriptedProvider extends FakeProvider {
  /** Releases the gated answers, both present and future. */
  open(): void;
  close(): void;
  /** The scripted behavior, which applies unless a test replaces it. */
  readonly script: ProviderHandler;
  /** Salts of the requests whose answer was sent completely. */
  readonly answered: Set<string>;
}

/**
 * Starts a provider that follows the script in the last message of a request. Several providers may share one
 * `answered` set.
 */
export async function startScriptedProvider(id: string, answered = new Set<string>()): Promise<ScriptedProvider> {
  let waiting: (() => void)[] | undefined = [];
  const gate = (): Promise<void> =>
    waiting === undefined ? Promise.resolve() : new Promise((resolve) => void waiting?.push(resolve));
  const follow: ProviderHandler = async (request, response) => {
    const { script, salt } = readScript(request);
    const act = script[id] ?? script['*'] ?? { kind: 'status', status: 500 };
    switch (act.kind) {
      case 'status':
        return sendJson(response, act.status, {
          error: { message: act.message ?? 'RAW-PROVIDER-ERROR', code: act.code },
        });
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
  return Object.assign(provider, {
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
  });
}

function readScript({ body }: SeenRequest): { script: Script; salt: string } {
  const messages = body.messages as { content: string }[] | undefined;
  const input = Array.isArray(body.input) ? body.input[0] : body.input;
  const said = messages?.at(-1)?.content ?? input;
  return (parseJson(String(said)) ?? { script: {}, salt: '' }) as { script: Script; salt: string };
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
