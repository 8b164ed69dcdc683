import { asNumber, asObject, asObjects, asString, type JsonObject } from './json.ts';

/** The parts of a catalog's model that dialects need. Unknown limits are undefined. */
export interface OfferedModel {
  readonly id: string;
  readonly name: string;
  /** Unix seconds. */
  readonly created: number;
  readonly contextLength: number | undefined;
  readonly maxOutputTokens: number | undefined;
}

/** Reads the text models of a `GET /v1/models`. */
export const readOfferedModels = (answer: unknown): OfferedModel[] =>
  (asObjects(asObject(answer)?.data) ?? []).flatMap((entry) => {
    const id = asString(entry.id);
    const type = asString(entry.model_type) ?? 'text';
    if (id === undefined || type !== 'text') return [];
    return [
      {
        id,
        name: asString(entry.name) ?? id,
        created: asNumber(entry.created) ?? 0,
        contextLength: asNumber(entry.context_length),
        maxOutputTokens: largestOutput(entry),
      },
    ];
  });

/** The largest output of any route. The service refuses a request for more than that. */
function largestOutput(entry: JsonObject): number | undefined {
  const routes = asObjects(entry.provider_routes) ?? [];
  if (routes.length === 0) return asNumber(entry.max_output_tokens);
  const limits = routes.map((route) => asNumber(route.max_output_tokens) ?? Number.POSITIVE_INFINITY);
  const largest = Math.max(...limits);
  return Number.isFinite(largest) ? largest : undefined;
}

/** Lowers a requested output to what the model can give, so that an agent's usual maximum is not refused. */
export const outputWithin = (
  asked: number | undefined,
  model: Pick<OfferedModel, 'maxOutputTokens'> | undefined,
): number | undefined => (asked === undefined ? undefined : Math.min(asked, model?.maxOutputTokens ?? asked));
