import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { send } from '../../kit/send.ts';

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, Described | { readonly $ref: string; readonly description: string }>>;
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: object; readonly example?: unknown }>>;
  };
}

interface Described {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly responses: Readonly<Record<string, Described>>;
    readonly headers: Readonly<Record<string, { readonly required?: boolean }>>;
  };
}

/** A call to an operation of the description. */
export interface Call {
  readonly parameters?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** One origin's own description, with a client that rejects every answer outside it. */
export class DescribedOrigin {
  readonly document: Document;
  readonly #origin: string;
  readonly #ajv: Ajv2020;
  /** Operation ids, by the outcome seen. */
  readonly succeeded = new Set<string>();
  readonly failed = new Set<string>();

  private constructor(origin: string, document: Document) {
    this.#origin = origin;
    this.document = document;
    // Keywords of OpenAPI and of media types mean nothing to a validator.
    this.#ajv = new Ajv2020({ strict: false, validateFormats: true, allErrors: true });
    addFormats.default(this.#ajv);
    this.#ajv.addSchema({ $id: 'document', ...document });
  }

  static async load(origin: string): Promise<DescribedOrigin> {
    const answer = await fetch(`${origin}/v1/openapi.json`, { headers: { 'accept-encoding': 'gzip' } });
    // The first caller gets the megabyte compressed, too.
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    expect(answer.status).toBe(200);
    return new DescribedOrigin(origin, (await answer.json()) as Document);
  }

  get operations(): (Operation & { readonly method: string; readonly path: string })[] {
    return Object.entries(this.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path })),
    );
  }

  /** Asserts that a value matches a schema of this document. References in the schema point into the document. */
  expectOf(schema: object, value: unknown, what: string): void {
    const resolved = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')) as object;
    const validate: ValidateFunction = this.#ajv.compile(resolved);
    const ok = validate(value);
    expect(ok, `${what}: ${this.#ajv.errorsText(validate.errors)}\n${JSON.stringify(value)?.slice(0, 2000)}`).toBe(
      true,
    );
  }

  /** Returns an operation by its id. */
  operation(id: string) {
    const found = this.operations.find(({ operationId }) => operationId === id);
    if (found === undefined) throw new Error(`there is no operation ${id}`);
    return found;
  }

  /** Calls an operation. Fails unless the description covers the answer's status, headers and body. */
  async call(operationId: string, { parameters = {}, query = '', headers = {}, body }: Call): Promise<Answer> {
    const { method, path, responses } = this.operation(operationId);
    const address = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? 'none'));
    const answer = await send(method.toUpperCase(), `${this.#origin}${address}${query}`, { headers, body });
    const what = `${method} ${path} ${answer.status}`;
    const described = this.#responseOf(responses[answer.status]);
    expect(described, `${what} is not described: ${answer.text.slice(0, 500)}`).toBeDefined();
    for (const name of Object.keys(described?.headers ?? {})) {
      if (this.document.components.headers[name]?.required !== true) continue;
      expect(answer.headers.get(name), `${what} has ${name}`).not.toBeNull();
    }
    this.#expectBody(answer, described?.content ?? {}, what);
    // The body of an error is the same schema everywhere. Its type must be one that this operation names.
    const { error } = (answer.status < 400 ? {} : answer.json) as { readonly error?: { readonly type: string } };
    if (error !== undefined) expect(described?.description, what).toContain(`\`${error.type}\`: `);
    (answer.status < 400 ? this.succeeded : this.failed).add(operationId);
    return answer;
  }

  #responseOf(answer: Operation['responses'][string] | undefined): Described | undefined {
    if (answer === undefined || !('$ref' in answer)) return answer;
    const named = this.document.components.responses[answer.$ref.replace('#/components/responses/', '')];
    return named && { ...named, description: answer.description };
  }

  #expectBody(
    { headers, text, json }: Answer,
    content: Readonly<Record<string, { schema: object }>>,
    what: string,
  ): void {
    if (Object.keys(content).length === 0) {
      expect(text, what).toBe('');
      return;
    }
    const type = headers.get('content-type')?.split(';')[0] ?? '';
    const media = content[type];
    expect(media, `${what} as ${type} is not described`).toBeDefined();
    if (media === undefined) return;
    if (/[/+]json$/.test(type)) this.expectOf(media.schema, json, what);
    else if (type === 'text/event-stream') this.#expectEvents(media.schema, text, what);
    else expect(text.length, what).toBeGreaterThan(0);
  }

  #expectEvents(schema: object, text: string, what: string): void {
    const { contentSchema } = schema as { contentSchema: object };
    const events = text.split('\n\n').filter((event) => event !== '' && !event.startsWith(':'));
    expect(events.at(-1), what).toBe('data: [DONE]');
    for (const event of events.slice(0, -1)) {
      this.expectOf(contentSchema, JSON.parse(event.slice('data: '.length)) as unknown, what);
    }
  }
}
