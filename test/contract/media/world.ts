import type { PlanesSetup } from '../../kit/both-planes.ts';
import {
  type FakeProvider,
  type ProviderHandler,
  type SeenRequest,
  sendJson,
  startProvider,
} from '../../kit/provider.ts';
import type { Operation } from './ask.ts';

export const timeouts = { connect_ms: 1000, first_byte_ms: 500, idle_ms: 600, total_ms: 4000 } as const;

/** USD per image and per million characters, by provider. */
export const prices = {
  alpha: { image: 0.04, input_characters: 15 },
  beta: { image: 0.05, input_characters: 30 },
  gamma: { image: 0.01, input_characters: 1 },
  delta: { image: 0.01, input_characters: 1 },
  patient: { image: 0.01, input_characters: 1 },
};
type ProviderId = keyof typeof prices;

/** What an answer costs at a provider, in nano-USD. */
export const imageCost = (provider: ProviderId = 'alpha'): bigint => BigInt(Math.round(prices[provider].image * 1e9));
export const speechCost = (characters: number, provider: ProviderId = 'alpha'): bigint =>
  BigInt(characters * prices[provider].input_characters * 1000);

/** One model of the world, with providers that answer for it alone; penalties outlive a test, so each takes its own. */
export interface Scene {
  readonly model: string;
  /** Ids of the providers that were asked for this model, in order. */
  readonly called: readonly string[];
  seen(provider: ProviderId): readonly SeenRequest[];
  on(provider: ProviderId, handler: ProviderHandler): void;
}

export interface MediaWorld extends PlanesSetup {
  /** A model that no test has used; default: `pair`, served by alpha, then beta. */
  scene(operation: Operation, shape?: Shape): Scene;
  provider(id: ProviderId): FakeProvider;
  stop(): Promise<void>;
}

/** The bytes of a small image, and its base64. */
export const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(1000, 7)]);

/** An answer with an image in the OpenAI shape, with what must not leak. */
export const answerImage =
  (image: Buffer = png): ProviderHandler =>
  (_request, response) =>
    sendJson(
      response,
      200,
      { created: 1, model: 'own-name', data: [{ b64_json: image.toString('base64'), revised_prompt: 'OWN-PROMPT' }] },
      { 'x-own-header': 'own-name' },
    );

/** Some audio: whatever it is, it must arrive as it is. */
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

/** Sends one piece, and then another over and over for as long as it is taken. */
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
} as const;
type Shape = keyof typeof shapes;
const providerIds = ['alpha', 'beta', 'gamma', 'delta', 'patient'] as const;
const types = { image: 'image', speech: 'tts' } as const;
const wellBehaved = { image: answerImage(), speech: answerSpeech() } as const;

/** Two providers of images and speech, with the files that name them. */
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
            return {
              provider: providerId,
              upstream_model: `${providerId}-${id}`,
              privacy_class: 'private',
              pricing: operation === 'image' ? { image } : { input_characters },
            };
          }),
        };
      }),
    ),
  );
  return {
    registry: JSON.stringify({
      providers: providerIds.map((id) => ({
        id,
        name: id,
        adapter: 'openai',
        base_url: provider(id).baseUrl,
        privacy_class: 'private',
        // `patient` has all the time that large answers take on a busy machine.
        ...(id === 'patient' ? {} : { timeouts }),
      })),
    }),
    catalog: JSON.stringify({
      models: [
        ...models,
        {
          id: 'text/chat',
          model_type: 'text',
          context_length: 8000,
          routes: [
            {
              provider: 'alpha',
              upstream_model: 'alpha-text/chat',
              privacy_class: 'private',
              pricing: { input: 1, output: 1 },
            },
          ],
        },
      ],
    }),
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
