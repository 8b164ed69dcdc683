import { modelAnswerSchema, preferencesSchema, privacyClassSchema } from '@sotto/wire';
import * as z from 'zod';
import { Fresh } from '../fresh.ts';
import { askForModels, type Exchange } from '../private/private-exchange.ts';

// Only these fields are read, loosely: a newer service may send more.
const listSchema = z.object({
  data: z.array(
    z.object({
      id: modelAnswerSchema.shape.id,
      provider_routes: z.array(
        z.object({
          provider: z.string(),
          privacy_class: privacyClassSchema,
          capabilities: z.object({ tools: z.boolean() }),
        }),
      ),
    }),
  ),
});
const effectiveSchema = z.object({
  preferences: z.object({
    provider_sort: preferencesSchema.shape.provider_sort,
    provider_ignore: z.array(z.string()),
    provider_allow_fallbacks: z.boolean(),
    provider_max_attempts: z.int(),
  }),
});

interface ListedRoute {
  readonly provider: string;
  readonly privacyClass: z.infer<typeof privacyClassSchema>;
  readonly hasTools: boolean;
}

/** What decides where requests of this key may go. */
export interface RoutingFacts {
  readonly preferences: z.infer<typeof effectiveSchema>['preferences'];
  /** Undefined if the service does not list the model. */
  routesOf(model: string): readonly ListedRoute[] | undefined;
}

export interface RoutingReaderOptions {
  readonly exchange: Exchange;
  /** Asks control for `GET /v1/routing/effective`. */
  readonly readEffective: () => Promise<Response>;
  readonly now: () => number;
}

/** Reads the models and the preferences in effect from the control origin, and keeps them for five minutes. */
export const routingFacts = (options: RoutingReaderOptions): Fresh<RoutingFacts> =>
  new Fresh({ read: () => askForFacts(options), now: options.now, freshMs: 5 * 60_000, retryMs: 30_000 });

async function askForFacts({ exchange, readEffective }: RoutingReaderOptions): Promise<RoutingFacts> {
  const [{ list }, effective] = await Promise.all([
    askForModels(exchange),
    readEffective().then((answer) => answer.json()),
  ]);
  const { preferences } = effectiveSchema.parse(effective);
  const routes = new Map(
    listSchema.parse(list).data.map(({ id, provider_routes }) => [
      id,
      provider_routes.map(({ provider, privacy_class: privacyClass, capabilities }) => ({
        ...{ provider, privacyClass, hasTools: capabilities.tools },
      })),
    ]),
  );
  return { preferences, routesOf: (model) => routes.get(model) };
}
