import { Pool } from 'undici';
import { type BenchService, benchModel } from './sotto.ts';

/** The models of mixed traffic. */
export const mixedCatalog = JSON.stringify({
  models: [
    ...['json', 'single-20', 'single-500', 'hold', 'fail'].map((name) => benchModel(name)),
    benchModel('vectors-1', 'embedding'),
  ],
});

/** `said` is the body of an error, or the reason why there was no answer. */
interface Answer {
  readonly status: number;
  readonly said: string;
}

type Kind = 'whole answers' | 'streams' | 'by ticket' | 'embeddings' | 'left' | 'failed' | 'refused';
/** The mix, per twenty requests. */
const mix: readonly Kind[] = [
  ...Array.from({ length: 6 }, () => 'whole answers' as const),
  ...Array.from({ length: 6 }, () => 'streams' as const),
  ...Array.from({ length: 3 }, () => 'by ticket' as const),
  ...Array.from({ length: 2 }, () => 'embeddings' as const),
  'left',
  'failed',
  'refused',
];

/**
 * Sends all kinds of requests in turn. `taken` has the times of whole answers in ms. `unexpected` has the unexpected
 * answers of the current open loop.
 */
export function openTraffic({ service, account }: BenchService) {
  const broker = new Pool(new URL(service.baseUrl).origin, {
    connections: 512,
    pipelining: 1,
    keepAliveTimeout: 60_000,
  });
  const control = new Pool(new URL(service.controlUrl).origin, { connections: 64, pipelining: 1 });
  const taken: number[] = [];
  const unexpected: string[] = [];
  const counts: Partial<Record<Kind, number>> = {};
  const bearer = { authorization: `Bearer ${account.inferenceKey}` };
  const messages = [{ role: 'user', content: 'What is the capital of France, and how many people live there?' }];
  const json = { 'content-type': 'application/json' };

  /**
   * Sends one request. Resolves when it has ended. With `leaveAfter`, the client disconnects after that number of
   * bytes.
   */
  const send = (path: string, headers: Record<string, string>, body: object, leaveAfter?: number): Promise<Answer> =>
    new Promise((resolve) => {
      let status = 0;
      let bytes = 0;
      let said = '';
      broker.dispatch(
        { path: `/v1${path}`, method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) },
        {
          onRequestStart() {},
          onResponseStart(_controller, code) {
            status = code;
          },
          onResponseData(controller, piece) {
            bytes += piece.length;
            if (status >= 400) said += String(piece);
            if (leaveAfter !== undefined && bytes > leaveAfter) controller.abort(new Error('left'));
          },
          onResponseEnd: () => resolve({ status, said }),
          onResponseError: (_controller, error) =>
            resolve({ status: leaveAfter === undefined ? 0 : status, said: error.message }),
        },
      );
    });
  const chat = (model: string, stream: boolean) => ({ model: `bench/${model}`, stream, messages, max_tokens: 300 });
  const wanted: Record<Kind, number> = {
    ...{ 'whole answers': 200, streams: 200, 'by ticket': 200, embeddings: 200, left: 200, failed: 502, refused: 400 },
  };
  const ask = async (kind: Kind, index: number): Promise<Answer> => {
    switch (kind) {
      case 'whole answers':
        return send('/chat/completions', bearer, chat('json', false));
      case 'streams':
        return send('/chat/completions', bearer, chat(index % 10 === 0 ? 'single-500' : 'single-20', true));
      case 'embeddings':
        return send('/embeddings', bearer, { model: 'bench/vectors-1', input: 'Some text.' });
      case 'left':
        return send('/chat/completions', bearer, chat('single-500', true), 2000);
      case 'failed':
        return send('/chat/completions', bearer, chat('fail', false));
      case 'refused':
        return send('/chat/completions', bearer, { model: 'bench/json', messages: 'none' });
      case 'by ticket': {
        const { statusCode, body } = await control.request({
          ...{ path: '/v1/inference/tickets', method: 'POST', headers: { ...json, ...bearer } },
          body: JSON.stringify({ model: 'bench/json' }),
        });
        const { ticket = '' } = (await body.json()) as { ticket?: string };
        if (statusCode !== 200) return { status: 0, said: `control answered ${statusCode}` };
        return send('/chat/completions', { 'x-router-ticket': ticket }, chat('json', false));
      }
    }
  };
  let index = 0;
  const one = async (): Promise<void> => {
    index += 1;
    const kind = mix[index % mix.length] ?? 'streams';
    const startedAt = performance.now();
    const { status, said } = await ask(kind, index).catch((error: Error) => ({ status: 0, said: error.message }));
    if (kind === 'whole answers') taken.push(performance.now() - startedAt);
    if (status !== wanted[kind]) throw new Error(`${kind} was answered ${status} (${reasonOf(said)})`);
    counts[kind] = (counts[kind] ?? 0) + 1;
  };
  return {
    taken,
    unexpected,
    async closedLoop(connections: number, forMs: number): Promise<number> {
      const startedAt = performance.now();
      let done = 0;
      const worker = async (): Promise<void> => {
        while (performance.now() - startedAt < forMs) {
          await one();
          done += 1;
        }
      };
      await Promise.all(Array.from({ length: connections }, worker));
      return (done * 1000) / (performance.now() - startedAt);
    },
    /** Sends at a fixed rate. Resolves to the number of expected answers of each kind, and to the other answers. */
    async openLoop(perSecond: number, forMs: number) {
      for (const kind of Object.keys(counts) as Kind[]) delete counts[kind];
      const open = new Set<Promise<void>>();
      unexpected.length = 0;
      const startedAt = performance.now();
      let sent = 0;
      for (let at = 0; at < forMs; at = performance.now() - startedAt) {
        for (; sent < (at * perSecond) / 1000; sent += 1) {
          const asking: Promise<void> = one()
            .catch((error: Error) => void unexpected.push(error.message))
            .finally(() => open.delete(asking));
          open.add(asking);
        }
        if (unexpected.length > 1000 && unexpected.length > sent / 10) break;
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      await Promise.all(open);
      return { counts: { ...counts }, unexpected: [...unexpected] };
    },
    close() {
      void broker.destroy();
      void control.destroy();
    },
  };
}

/** Returns the type of an error in the documented envelope, or the whole text. */
const reasonOf = (said: string): string => /"type":"([^"]*)"/.exec(said)?.[1] ?? said.slice(0, 80);
