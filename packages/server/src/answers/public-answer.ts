import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Compressions in order of preference. At these levels a megabyte takes some 20 ms, in a thread of Node’s pool. */
const compressions = {
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes, { level: 6 }),
} as const;
type Compression = keyof typeof compressions;
const preferred = Object.keys(compressions) as Compression[];

/** Below this size in bytes, compression saves no packet. */
const smallBytes = 1024;

/**
 * An answer that is the same for every caller, ready as bytes. It is compressed once. By default that is when it is asked for a
 * second time: compressing an answer that is sent once costs more than sending it.
 */
export class PublicAnswer {
  readonly text: string;
  readonly #bytes: Buffer;
  /** Weak, because one tag stands for all compressions of the same content (RFC 9110, 8.8.1). */
  readonly #tag: string;
  readonly #compressed = new Map<Compression, Promise<Buffer>>();
  readonly #mediaType: string;
  #isAskedAgain: boolean;

  /** `compressFirst`: the answer is so large that its first caller gets it compressed, too. */
  constructor(
    text: string,
    {
      compressFirst = false,
      mediaType = 'application/json',
    }: { readonly compressFirst?: boolean; readonly mediaType?: string } = {},
  ) {
    this.#mediaType = mediaType;
    this.#isAskedAgain = compressFirst;
    this.text = text;
    this.#bytes = Buffer.from(text);
    this.#tag = `W/"${createHash('sha256').update(this.#bytes).digest('base64url').slice(0, 22)}"`;
  }

  /** Sends the answer, or 304 if the caller has it. */
  async send({ headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    reply.headers({ etag: this.#tag, vary: 'accept-encoding', 'content-type': `${this.#mediaType}; charset=utf-8` });
    if (isKnown(headers['if-none-match'], this.#tag)) return reply.code(304).send();
    const compression =
      this.#bytes.length < smallBytes || !this.#isAskedAgain ? undefined : acceptedBy(headers['accept-encoding']);
    this.#isAskedAgain = true;
    if (compression === undefined) return reply.send(this.#bytes);
    const compressed = this.#compressed.get(compression) ?? compressions[compression](this.#bytes);
    this.#compressed.set(compression, compressed);
    return reply.header('content-encoding', compression).send(await compressed);
  }
}

/** The public answers of a server. Equal answers are prepared once. */
export class PublicAnswers {
  readonly #byObject = new WeakMap<object, PublicAnswer>();
  readonly #latest = new Map<string, PublicAnswer>();

  /** Returns the prepared form of an answer. `route` names the route, whose answer is often the same as before. */
  of(route: string, answer: object): PublicAnswer {
    const known = this.#byObject.get(answer);
    if (known !== undefined) return known;
    const text = JSON.stringify(answer);
    const latest = this.#latest.get(route);
    const prepared = latest?.text === text ? latest : new PublicAnswer(text);
    this.#latest.set(route, prepared);
    this.#byObject.set(answer, prepared);
    return prepared;
  }
}

/** Whether `if-none-match` names a tag. */
const isKnown = (known: string | undefined, tag: string): boolean =>
  (known ?? '').split(',').some((each) => ['*', tag, tag.slice(2)].includes(each.trim()));

/** Returns the preferred compression that `accept-encoding` allows. Undefined: none. */
function acceptedBy(accepted = ''): Compression | undefined {
  const allowed = accepted.split(',').flatMap((entry) => {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
    return parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) ? [] : [name];
  });
  return preferred.find((name) => allowed.includes(name));
}
