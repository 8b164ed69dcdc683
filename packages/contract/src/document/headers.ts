import { headerNames } from '@sotto/wire';
import type { HeaderGroup, JsonSchema } from '../route.ts';

interface Header extends JsonSchema {
  readonly description: string;
  readonly schema: JsonSchema;
}

const text = (description: string, more: JsonSchema = {}): Header => ({
  description,
  schema: { type: 'string', ...more },
});
const count = (description: string): Header => ({ description, schema: { type: 'integer', minimum: 0 } });
const duration = (what: string): Header =>
  text(`Time until all ${what} of the minute are available again, such as \`1s\` or \`6m0s\`.`);

/** Headers of every answer of a route. */
export const headersOfAll: Readonly<Record<string, Header>> = {
  [headerNames.requestId]: text('Id of this request. Name it when you report a problem.'),
};

export const headersOfErrors: Readonly<Record<string, Header>> = {
  ...headersOfAll,
  'retry-after': { description: 'Whole seconds to wait before a retry.', schema: { type: 'integer', minimum: 1 } },
  'retry-after-ms': {
    description: 'The same wait in milliseconds, if it is not in whole seconds. SDKs for OpenAI prefer it.',
    schema: { type: 'integer', minimum: 1 },
  },
  'x-should-retry': text(
    '`false`: do not retry, because it cannot help or could be charged twice. SDKs for OpenAI obey it.',
    { const: 'false' },
  ),
};

/** Headers of successes, by the group that contracts name. */
export const headerGroups: Readonly<Record<HeaderGroup, Readonly<Record<string, Header>>>> = {
  rate: {
    [headerNames.limitRequests]: count('Requests per minute that the key may send.'),
    [headerNames.remainingRequests]: count('Requests that remain in this minute.'),
    [headerNames.resetRequests]: duration('requests'),
    [headerNames.limitTokens]: count('Tokens per minute that the key may use.'),
    [headerNames.remainingTokens]: count('Tokens that remain in this minute.'),
    [headerNames.resetTokens]: duration('tokens'),
  },
  route: {
    [headerNames.selectedModel]: text('The provider and model that served: `<provider id>/<model id>`.'),
    [headerNames.routing]: text('`auto` if `/auto` chose the model, else `exact`.', { enum: ['auto', 'exact'] }),
    [headerNames.provider]: text('The provider that served; `other` if it is not listed.'),
    [headerNames.providerAttempts]: {
      description: 'Number of providers tried.',
      schema: { type: 'integer', minimum: 1 },
    },
    [headerNames.providerFallback]: {
      description: 'Whether another than the first provider served.',
      schema: { type: 'boolean' },
    },
    [headerNames.privacyClass]: {
      description: 'Privacy tier of the route that served.',
      schema: { $ref: '#/components/schemas/PrivacyClass' },
    },
  },
  enclave: { [headerNames.providerRequestId]: text('Id to ask the provider of an enclave for its own receipt by.') },
  location: { location: text('Address of the created object, or of the next page.') },
};

/** Groups that every success of their routes has. The other groups are optional. */
const alwaysThere: readonly HeaderGroup[] = ['rate', 'route', 'location'];

/** All headers by name, for `components.headers`. */
export const allHeaders: Readonly<Record<string, JsonSchema>> = {
  ...headersOfErrors,
  ...Object.fromEntries(
    (Object.keys(headerGroups) as HeaderGroup[]).flatMap((group) =>
      Object.entries(headerGroups[group]).map(([name, header]) => [
        name,
        alwaysThere.includes(group) ? { ...header, required: true } : header,
      ]),
    ),
  ),
};
