import { errors, Pool } from 'undici';

/** How to send requests to a contender. */
export interface Target {
  readonly origin: string;
  readonly path: string;
  /** Returns the headers of one request. It is called for each request, because a ticket works once. */
  headers(): Record<string, string>;
  /** Returns the contender's name for a model. */
  model(name: string): string;
  /** Returns the body of one request. The default is a short chat. */
  body?(name: string, stream: boolean): string;
}

const messages = [
  { role: 'system', content: 'You are a helpful assistant that answers briefly.' },
  { role: 'user', content: 'What is the capital of France, and how many people live there?' },
  { role: 'assistant', content: 'Paris, with about two million people.' },
  { role: 'user', content: 'And of Italy? Answer in one sentence, please.' },
];

const bodyOf = (target: Target, model: string, stream: boolean): string =>
  target.body?.(model, stream) ??
  JSON.stringify({ model: target.model(model), messages, max_tokens: 300, ...(stream ? { stream: true } : {}) });

export interface RequestTiming {
  readonly firstByteMs: number;
  readonly bytes: number;
}

/** Connections to one contender. */
export class Load {
  readonly #target: Target;
  readonly #pool: Pool;

  constructor(target: Target) {
    this.#target = target;
    // Some servers close connections that were idle for five seconds, and a request that is being sent at that time
    // fails.
    this.#pool = new Pool(target.origin, { connections: null, pipelining: 1, keepAliveTimeout: 3000 });
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  /** Sends one request and waits for its end. */
  request(model: string, stream: boolean): Promise<RequestTiming> {
    return this.#send({ body: bodyOf(this.#target, model, stream), headers: this.#target.headers() }, stream, 2);
  }

  /**
   * Sends again, at most `tries` times in all, if a connection that was open closes before it is used, or if the service asks for it
   * because a database answered late, as on a machine that stands still for seconds. A second such answer is an error.
   */
  #send(
    sent: { readonly body: string; readonly headers: Record<string, string> },
    stream: boolean,
    tries: number,
  ): Promise<RequestTiming> {
    const { origin } = this.#target;
    return new Promise((resolve, reject) => {
      const startedAt = performance.now();
      let firstByteMs: number | undefined;
      let bytes = 0;
      let tail = '';
      let status = 0;
      this.#pool.dispatch(
        {
          path: this.#target.path,
          method: 'POST',
          headers: { 'content-type': 'application/json', ...sent.headers },
          body: sent.body,
          headersTimeout: 60_000,
          bodyTimeout: 60_000,
        },
        {
          onRequestStart() {},
          onResponseStart(_controller, given) {
            status = given;
          },
          onResponseData(_controller, chunk) {
            firstByteMs ??= performance.now() - startedAt;
            bytes += chunk.length;
            if (stream || status !== 200) tail = (tail + chunk.toString('latin1')).slice(-200);
          },
          onResponseEnd: () => {
            if (status === 503 && tries > 1) {
              process.stderr.write(
                `${origin} asks to try again after ${Math.round(performance.now() - startedAt)} ms: ${tail}\n`,
              );
              const again = { body: sent.body, headers: this.#target.headers() };
              setTimeout(() => resolve(this.#send(again, stream, tries - 1)), 1000);
            } else if (status !== 200) reject(new Error(`${origin} answered ${status}: ${tail}`));
            else if (stream && !tail.includes('[DONE]'))
              reject(new Error(`a stream of ${origin} is incomplete: ${tail}`));
            else resolve({ firstByteMs: firstByteMs ?? performance.now() - startedAt, bytes });
          },
          onResponseError: (_controller, error) => {
            const isUnused = error instanceof errors.SocketError && status === 0;
            if (isUnused && tries > 1) resolve(this.#send(sent, stream, tries - 1));
            else reject(error);
          },
        },
      );
    });
  }

  /** Opens a stream and leaves it open. Resolves at its first bytes. */
  open(model: string): Promise<() => void> {
    const body = bodyOf(this.#target, model, true);
    return new Promise((resolve, reject) => {
      let close = (): void => {};
      this.#pool.dispatch(
        {
          path: this.#target.path,
          method: 'POST',
          headers: { 'content-type': 'application/json', ...this.#target.headers() },
          body,
          headersTimeout: 0,
          bodyTimeout: 0,
        },
        {
          onRequestStart(controller) {
            close = () => controller.abort(new Error('closed'));
          },
          onResponseStart(controller, status) {
            if (status !== 200) controller.abort(new Error(`status ${status}`));
          },
          onResponseData: () => resolve(close),
          onResponseEnd() {},
          onResponseError: (_controller, error) => reject(error),
        },
      );
    });
  }

  /** Sends `count` requests, at most `connections` at a time. Resolves to requests per second. */
  async closedLoop(options: { model: string; stream: boolean; count: number; connections: number }): Promise<number> {
    let left = options.count;
    const startedAt = performance.now();
    const worker = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        await this.request(options.model, options.stream);
      }
    };
    await Promise.all(Array.from({ length: options.connections }, worker));
    return (options.count * 1000) / (performance.now() - startedAt);
  }

  /** Sends requests at a fixed rate, regardless of earlier ones. Resolves to their times to the first byte in ms. */
  async openLoop(options: { model: string; stream: boolean; perSecond: number; count: number }): Promise<number[]> {
    const timings: Promise<RequestTiming>[] = [];
    const startedAt = performance.now();
    for (let sent = 0; sent < options.count; ) {
      const due = Math.min(options.count, Math.floor(((performance.now() - startedAt) * options.perSecond) / 1000) + 1);
      for (; sent < due; sent += 1) timings.push(this.request(options.model, options.stream));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return (await Promise.all(timings)).map(({ firstByteMs }) => firstByteMs);
  }
}
