import type { PlanesIn, PlanesSetup } from '../../kit/both-planes.ts';
import { filesOf, providerEntry, routeEntry, textModel } from '../../kit/catalog.ts';
import { type BytesAnswer, type OpenBytes, openBytes } from '../../kit/open-bytes.ts';
import {
  type FakeProvider,
  type ProviderHandler,
  type SeenRequest,
  sendJson,
  startProvider,
} from '../../kit/provider.ts';
import type { Service, TestAccount } from '../../kit/service.ts';

export const timeouts = { connect_ms: 1000, first_byte_ms: 500, idle_ms: 600, total_ms: 60_000 } as const;
/** The total time limit of the provider `hasty`. */
export const hastyTotalMs = 4000;

/** USD per image and per million characters, by provider. */
export const prices = {
  alpha: { image: 0.04, input_characters: 15 },
  beta: { image: 0.05, input_characters: 30 },
  gamma: { image: 0.01, input_characters: 1 },
  delta: { image: 0.01, input_characters: 1 },
  patient: { image: 0.01, input_characters: 1 },
  hasty: { image: 0.04, input_characters: 15 },
};
type ProviderId = keyof typeof prices;

/** Returns the price of an answer at a provider, in nano-USD. */
export const imageCost = (provider: ProviderId = 'alpha'): bigint => BigInt(Math.round(prices[provider].image * 1e9));
export const speechCost = (characters: number, provider: ProviderId = 'alpha'): bigint =>
  BigInt(characters * prices[provider].input_characters * 1000);

/** One model with providers that serve only it. Each test takes its own scene, because penalties outlive a test. */
export interface Scene {
  readonly model: string;
  /** Ids of the providers that were asked for this model, in order. */
  readonly called: readonly string[];
  seen(provider: ProviderId): readonly SeenRequest[];
  on(provider: ProviderId, handler: ProviderHandler): void;
}

export interface MediaWorld extends PlanesSetup {
  /** Returns an unused model. Default: `pair`, served by alpha, then beta. */
  scene(operation: Operation, shape?: Shape): Scene;
  provider(id: ProviderId): FakeProvider;
  stop(): Promise<void>;
}

/** The bytes of a small image, and its base64. */
export const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(1000, 7)]);

/** Answers with an image in OpenAI's shape, with fields that must not leak. */
export const answerImage =
  (image: Buffer = png): ProviderHandler =>
  (_request, response) =>
    sendJson(
      response,
      200,
      { created: 1, model: 'own-name', data: [{ b64_json: image.toString('base64'), revised_prompt: 'OWN-PROMPT' }] },
      { 'x-own-header': 'own-name' },
    );

/** Returns some bytes as audio. They must arrive unchanged. */
export const audio = (bytes = 5000): Buffer =>
  Buffer.from(Uint8Array.from({ length: bytes }, (_, i) => (i * 31) % 256));

export const answerSpeech =
  (bytes: Buffer = audio(), pieces = 5): ProviderHandler =>
  async (_request, response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg', 'x-own-header': 'own-name' });
    const size = Math.ceil(bytes.length / pieces);
    for (let at = 0; at < bytes.length && !response.destroyed; at += size) {
      if (!response.write(bytes.subarray(at, at + size))) await onceDrained(response);
    }
    response.end();
  };

/** Sends one piece, then repeats another for as long as the client reads. */
export const answerEndlessly =
  (type: string, first: Buffer, more: Buffer): ProviderHandler =>
  async (_request, response) => {
    response.writeHead(200, { 'content-type': type });
    response.write(first);
    while (!response.destroyed) if (!response.write(more)) await onceDrained(response);
  };

const onceDrained = (response: Parameters<ProviderHandler>[1]): Promise<void> =>
  new Promise((resolve) => {
    const over = (): void => {
      response.off('drain', over).off('close', over);
      resolve();
    };
    response.on('drain', over).on('close', over);
  });

const copies = 50;
const shapes = {
  pair: ['alpha', 'beta'],
  single: ['alpha'],
  gamma: ['gamma', 'beta'],
  delta: ['delta', 'beta'],
  patient: ['patient'],
  hasty: ['hasty'],
} as const;
type Shape = keyof typeof shapes;
const providerIds = ['alpha', 'beta', 'gamma', 'delta', 'patient', 'hasty'] as const;
const types = { image: 'image', speech: 'tts' } as const;
/** `patient` has long time limits, for large answers. */
const timeLimits: Partial<Record<ProviderId, object>> = {
  patient: {},
  hasty: { timeouts: { ...timeouts, total_ms: hastyTotalMs } },
};
const wellBehaved = { image: answerImage(), speech: answerSpeech() } as const;

/** Starts two providers of images and speech, and builds the files that name them. */
export async function startWorld(): Promise<MediaWorld> {
  const handlers = new Map<string, ProviderHandler>();
  const seen = new Map<string, SeenRequest[]>();
  const called = new Map<string, string[]>();
  const used = new Map<string, number>();
  const providers = new Map<ProviderId, FakeProvider>();
  for (const id of providerIds) {
    const provider = await startProvider((request, response) => {
      const model = String(request.body.model).slice(id.length + 1);
      called.set(model, [...(called.get(model) ?? []), id]);
      seen.set(`${id} ${model}`, [...(seen.get(`${id} ${model}`) ?? []), request]);
      const usual = wellBehaved[model.startsWith('image') ? 'image' : 'speech'];
      return (handlers.get(`${id} ${model}`) ?? usual)(request, response);
    });
    providers.set(id, provider);
  }
  const provider = (id: ProviderId): FakeProvider => {
    const found = providers.get(id);
    if (found === undefined) throw new Error(`there is no provider ${id}`);
    return found;
  };
  const models = (['image', 'speech'] as const).flatMap((operation) =>
    (Object.keys(shapes) as Shape[]).flatMap((shape) =>
      Array.from({ length: copies }, (_, copy) => {
        const id = `${operation}/${shape}-${copy}`;
        return {
          id,
          model_type: types[operation],
          routes: shapes[shape].map((providerId) => {
            const { image, input_characters } = prices[providerId];
            const pricing = operation === 'image' ? { image } : { input_characters };
            return routeEntry(providerId, pricing, { upstream_model: `${providerId}-${id}` });
          }),
        };
      }),
    ),
  );
  return {
    ...filesOf(
      providerIds.map((id) => providerEntry(id, provider(id).baseUrl, timeLimits[id] ?? { timeouts })),
      [...models, textModel('text/chat', [routeEntry('alpha', undefined, { upstream_model: 'alpha-text/chat' })])],
    ),
    environment: { IMAGE_GENERATION: 'on', SPEECH_SYNTHESIS: 'on' },
    provider,
    scene(operation, shape = 'pair') {
      const kind = `${operation}/${shape}`;
      const copy = used.get(kind) ?? 0;
      if (copy >= copies) throw new Error(`more copies of ${kind} are needed`);
      used.set(kind, copy + 1);
      const model = `${kind}-${copy}`;
      return {
        model,
        get called() {
          return called.get(model) ?? [];
        },
        seen: (id) => seen.get(`${id} ${model}`) ?? [],
        on: (id, handler) => void handlers.set(`${id} ${model}`, handler),
      };
    },
    async stop() {
      for (const one of providers.values()) await one.stop();
    },
  };
}

/** The environment of a media suite. Use it only within tests and hooks. */
export type MediaStage = PlanesIn<MediaWorld>;

export type Operation = 'image' | 'speech';

export const paths = { image: '/images/generations', speech: '/audio/speech' } as const;

interface SendOptions {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** If false, the client leaves the answer unread until `read` is called. */
  readonly reading?: boolean;
}

/** Sends a body to the broker as a plain HTTP client. */
export const send = (service: Service, body: object, { path, headers = {}, reading }: SendOptions): OpenBytes =>
  openBytes(`${service.baseUrl}${path}`, { 'content-type': 'application/json', ...headers }, JSON.stringify(body), {
    reading,
  });

/** Returns the body of the ticket request for a media body. */
function ticketRequestOf(operation: Operation, body: Readonly<Record<string, unknown>>): object {
  const { model, provider, size, voice, response_format, input } = body;
  const settings = operation === 'image' ? { size } : { voice, input_chars: String(input).length };
  return { operation, model, provider, response_format, ...settings };
}

/** Opens a request with a ticket bought for it. */
export async function open(
  service: Service,
  account: Pick<TestAccount, 'inferenceKey'>,
  operation: Operation,
  body: Readonly<Record<string, unknown>>,
  options: { readonly reading?: boolean } = {},
): Promise<OpenBytes> {
  const { ticket } = await service.mintTicket(account.inferenceKey, ticketRequestOf(operation, body));
  return send(service, body, { path: paths[operation], headers: { 'x-router-ticket': ticket }, ...options });
}

/** Sends a request with a ticket bought for it, and reads the whole answer. */
export const askMedia = async (...asked: Parameters<typeof open>): Promise<BytesAnswer> =>
  (await open(...asked)).answer;

/** Returns the parsed body of a JSON answer. */
export const jsonOf = ({ bytes }: BytesAnswer): Record<string, unknown> =>
  JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;

/** Returns the status and the error type of an answer. */
export function errorOf(answer: BytesAnswer): readonly [status: number | undefined, type: unknown] {
  const { error } = jsonOf(answer) as { error?: { type: string } };
  return [answer.status, error?.type];
}
