import { Ajv, type ValidateFunction } from 'ajv';
import { inject } from 'vitest';
import type { OpenAiAnswers } from './answers.ts';

type Kind = keyof OpenAiAnswers;

const kinds: Readonly<Record<string, Kind>> = {
  '/v1/chat/completions': 'chat',
  '/v1/embeddings': 'embeddings',
  '/v1/images/generations': 'images',
  '/v1/models': 'models',
  '/v1/responses': 'response',
};

/** Tests of limits produce larger answers. Checking those would take seconds. */
const mostBytes = 4 * 2 ** 20;

export interface AnswerHead {
  readonly path: string;
  readonly status: number;
  /** Headers by lowercase name. */
  readonly headers: ReadonlyMap<string, string>;
  /** Whether only the client's enclave can read it. */
  readonly isSealed: boolean;
}

/** Checks one answer against OpenAI's schema as its bytes come in, if the service sent it. */
export class WatchedAnswer {
  readonly problems: string[] = [];
  readonly #what: string;
  readonly #kind: Kind | undefined;
  readonly #isStream: boolean;
  readonly #decoder = new TextDecoder();
  #text = '';
  #isWatched: boolean;

  constructor({ path, status, headers, isSealed }: AnswerHead) {
    const [route = ''] = path.split('?');
    const type = headers.get('content-type') ?? '';
    this.#what = `${status} ${route}`;
    this.#isStream = type.startsWith('text/event-stream');
    if (route.startsWith('/v1/')) this.#kind = status >= 400 ? 'error' : status === 200 ? kinds[route] : undefined;
    const isReadable = this.#isStream
      ? this.#kind === 'chat' || this.#kind === 'response'
      : type.startsWith('application/json');
    // Stand-ins for providers send ids of another form, or none.
    const isOurs = /^req_[\w-]{16}$/.test(headers.get('x-request-id') ?? '');
    // Errors of the Model Context Protocol are those of JSON-RPC.
    const isApi = route !== '/v1/docs/mcp';
    this.#isWatched = isOurs && isApi && isReadable && this.#kind !== undefined && (!isSealed || status >= 400);
  }

  take(bytes: Uint8Array): void {
    if (!this.#isWatched) return;
    this.#text += this.#decoder.decode(bytes, { stream: true });
    if (this.#isStream) this.#takeFrames();
    else if (this.#text.length > mostBytes) this.#forget();
  }

  /** Ends the answer and returns its problems. */
  end(): readonly string[] {
    if (this.#isWatched && !this.#isStream && this.#kind !== undefined) this.#check(this.#kind, this.#text);
    this.#forget();
    return this.problems.splice(0);
  }

  #forget(): void {
    this.#isWatched = false;
    this.#text = '';
  }

  #takeFrames(): void {
    const frames = this.#text.split('\n\n');
    this.#text = frames.pop() ?? '';
    for (const frame of frames) {
      if (this.#kind === 'response') {
        this.#takeEvent(frame);
        continue;
      }
      if (!frame.startsWith('data: ') || frame === 'data: [DONE]') continue;
      const json = frame.slice('data: '.length);
      // The chunk that ends a broken stream is read as an error: OpenAI has no finish reason for it.
      this.#check(json.includes('"error":{') ? 'error' : 'chunk', json);
    }
  }

  /** Checks the last event of a Responses stream, which has the whole response. Its other types take minutes to check. */
  #takeEvent(frame: string): void {
    const [, json] = /^event: response\.(?:completed|incomplete|failed)\ndata: (.*)$/s.exec(frame) ?? [];
    const event = parsed(json ?? '') as { readonly response?: object } | undefined;
    if (event?.response !== undefined) this.#check('response', JSON.stringify(event.response));
  }

  #check(kind: Kind, json: string): void {
    const value = parsed(json);
    // In OAuth, `error` is a string.
    if (kind === 'error' && typeof (value as { error?: unknown } | undefined)?.error === 'string') return;
    heldAnswers.set(kind, (heldAnswers.get(kind) ?? 0) + 1);
    const validate = validatorOf(kind);
    if (validate(value)) return;
    const wrong = validate.errors?.map(({ instancePath, message }) => `${instancePath} ${message}`).join(', ');
    this.problems.push(`${this.#what}, ${kind}: ${wrong}: ${json.slice(0, 500)}`);
  }
}

/** How many answers and chunks of each kind this process has checked. */
export const heldAnswers = new Map<Kind, number>();

const validators = new Map<Kind, ValidateFunction>();

function validatorOf(kind: Kind): ValidateFunction {
  const known = validators.get(kind);
  if (known !== undefined) return known;
  const made = new Ajv({ strict: false }).compile(inject('openAiAnswers')[kind]);
  validators.set(kind, made);
  return made;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
