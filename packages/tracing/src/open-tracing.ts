import { randomBytes } from 'node:crypto';
import { Tracing } from './tracing.ts';

/** A collector that does not answer must not keep what is sent to it for long. */
const sendTimeoutMs = 5000;

/** Traces a part of the requests and sends it to a collector by OTLP over HTTP, as JSON. `flush` is to be called now and then. */
export const openTracing = (options: {
  readonly service: string;
  /** Of the collector, path included. */
  readonly url: string;
  readonly ratio: number;
  readonly now: () => number;
  readonly onLost: (spans: number) => void;
}): Tracing =>
  new Tracing({
    ...options,
    random: () => randomBytes(4).readUInt32BE() / 2 ** 32,
    randomHex: (bytes) => randomBytes(bytes).toString('hex'),
    async send(body) {
      const answer = await fetch(options.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        redirect: 'error',
        signal: AbortSignal.timeout(sendTimeoutMs),
      });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error('not taken');
    },
  });
