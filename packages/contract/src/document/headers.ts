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
const duration = (what: string): Header => text(`Until ${what} are whole again, such as \`1s\` or \`6m0s\`.`);

/** On every answer that a route makes. */
export const headersOfAll: Readonly<Record<string, Header>> = {
  [headerNames.requestId]: text('Of this one request; it joins with nothing else.'),
};

/** On errors, where they apply. */
export const headersOfErrors: Readonly<Record<string, Header>> = {
  ...headersOfAll,
  'retry-after': {
    description: 'Whole seconds until it is worth coming back.',
    schema: { type: 'integer', minimum: 1 },
  },
  'x-should-retry': text('`false`: to send it again cannot help, or could be paid twice. The OpenAI SDKs obey it.', {
    const: 'false',
  }),
};

/** Headers of interface 4.7, and a few more. */
export const headerGroups: Readonly<Record<HeaderGroup, Readonly<Record<string, Header>>>> = {
  rate: {
    [headerNames.limitRequests]: count('Requests a minute.'),
    [headerNames.remainingRequests]: count('Of these, what is left.'),
    [headerNames.resetRequests]: duration('requests'),
    [headerNames.limitTokens]: count('Tokens a minute.'),
    [headerNames.remainingTokens]: count('Of these, what is left.'),
    [headerNames.resetTokens]: duration('tokens'),
  },
  route: {
    [headerNames.selectedModel]: text('Who served: `<provider id>/<model id>`.'),
    [headerNames.routing]: text('`auto` where `/auto` chose the model.', { enum: ['auto', 'exact'] }),
    [headerNames.provider]: text('The provider that served; `other` for one that is not listed.'),
    [headerNames.providerAttempts]: { description: 'Providers tried.', schema: { type: 'integer', minimum: 1 } },
    [headerNames.providerFallback]: { description: 'Whether a fallback served.', schema: { type: 'boolean' } },
    [headerNames.privacyClass]: {
      description: 'Of the route that served.',
      schema: { $ref: '#/components/schemas/PrivacyClass' },
    },
  },
  enclave: {
    [headerNames.providerRequestId]: text('Of an answer by an enclave: what its receipt is asked for by.'),
  },
  location: { location: text('Where it is, or where to go next.') },
};

/** Those that are on every success of their route; the others are there where they apply. */
const alwaysThere: readonly HeaderGroup[] = ['rate', 'route', 'location'];

/** All of them by name, for `components.headers`. */
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
