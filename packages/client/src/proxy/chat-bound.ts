import { dearestCost, largestAmount, type Nusd } from '@sotto/money';
import {
  asArray,
  asNumber,
  asObject,
  asObjects,
  asString,
  expandedSchemaBytes,
  hasReferences,
  type JsonObject,
  parseModelReference,
  templateTokensAtMost,
} from '@sotto/wire';
import type { ListedPrice } from '../bill/price-list.ts';

/** Tokens of the longest answer, if the catalog states no limit. */
const mostTokens = 1_000_000;

/** The most that a chat in clear can cost, at the dearest route that it may reach. The service never holds more for it. */
export function chatBound(text: string, body: JsonObject, routes: readonly ListedPrice[]): Nusd {
  const names = [body.model, ...(asArray(body.models) ?? [])];
  const named = names.map((name) => {
    const { id } = parseModelReference(asString(name) ?? '');
    return routes.filter(({ model }) => model === id);
  });
  // Any other name, such as `/auto`, may reach every model.
  const reachable = named.every(({ length }) => length > 0) ? named.flat() : routes;
  const prompt = promptTokensAtMost(text, body);
  const asked = countIn(body.max_completion_tokens) ?? countIn(body.max_tokens) ?? Number.POSITIVE_INFINITY;
  const bounds = reachable.map(({ price, contextLength, maxOutputTokens }) => {
    const promptTokens = Math.min(prompt, contextLength ?? prompt);
    const completionTokens = Math.min(asked, maxOutputTokens ?? contextLength ?? mostTokens);
    return dearestCost({ promptTokens, completionTokens }, price);
  });
  return largestAmount(bounds);
}

const countIn = (value: unknown): number | undefined => {
  const number = asNumber(value);
  return number !== undefined && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
};

/** Each byte may be a token. */
function promptTokensAtMost(text: string, body: JsonObject): number {
  const messages = asObjects(body.messages) ?? [];
  const images = messages.flatMap(({ content }) => asObjects(content) ?? []).filter(({ type }) => type === 'image_url');
  const tools = asObjects(body.tools) ?? [];
  const format = asObject(body.response_format);
  const schemas = [asObject(format?.json_schema)?.schema, ...tools.map((tool) => asObject(tool.function)?.parameters)];
  const referring = schemas.filter((schema) => hasReferences(JSON.stringify(schema) ?? ''));
  return (
    Buffer.byteLength(text) +
    referring.reduce<number>((sum, schema) => sum + expandedSchemaBytes(schema), 0) +
    templateTokensAtMost({
      ...{ messages: messages.length, tools: tools.length, images: images.length },
      hasFormat: format !== undefined,
    })
  );
}
