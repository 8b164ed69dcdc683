import { maxContentBytes } from '@sotto/wire';
import type { JsonSchema } from '../route.ts';

const modelId = 'A model id, or `/auto`. The suffix `:nitro` sorts providers by throughput, `:floor` by price.';
const policy = 'The id of one provider, or a policy. Anything you omit uses the preferences of the workspace.';
const effort = 'How much to reason. Each model has its own levels.';
const usd = 'USD.';
const text = { type: 'string', minLength: 1, maxLength: maxContentBytes };
const tokens = {
  type: 'array',
  minItems: 1,
  maxItems: 1_000_000,
  items: { type: 'integer', minimum: 0, maximum: 4_294_967_295 },
};

/**
 * Descriptions and schema keywords that the generated schemas lack, by component and field. A name without a field means the
 * component itself. Fields are found at any depth of unions and arrays.
 */
export const notes: Readonly<Record<string, string | JsonSchema>> = {
  PrivacyClass:
    'Weakest to strongest. `anonymous`: the provider gets content without identity and may keep it. `private`: the provider agreed not to keep content or train on it. `tee`: an attested enclave processes content. `e2ee`: only the attested enclave can read content.',
  ProviderId: '`acme`, or `acme/eu` for a variant or region of it. `other` means all providers without a listed name.',
  MaxPrice: 'Price limits in USD per million tokens. An absent side has no limit.',
  ProviderPolicy:
    'A provider id alone means `{"only": [id], "allow_fallbacks": false}`. A request can tighten the preferences of its workspace, never loosen them.',
  'ProviderPolicyObject.order': 'Providers to try first, in this order.',
  'ProviderPolicyObject.only': 'Use only these providers.',
  'ProviderPolicyObject.ignore': 'Never use these providers.',
  'ProviderPolicyObject.allow_fallbacks': 'False: only one attempt, at the first eligible route. Default true.',
  'ProviderPolicyObject.sort': 'Order of the eligible routes. Default `privacy`.',
  'ProviderPolicyObject.minimum_privacy': 'The weakest class that any attempt may use.',
  'ProviderPolicyObject.require_parameters': 'Use only routes that accept every parameter of the request.',
  'ProviderPolicyObject.max_attempts': "Most providers to try. Default 3, or the workspace's limit.",
  'Preferences.provider_sort': 'Sort for requests without `provider`.',
  'Preferences.privacy_boundary': 'The weakest class that any request may use: `anonymous`, `private` or `tee`.',
  'Preferences.fallback_floor':
    'The weakest class that a fallback may use, never below the boundary. Null: fallbacks keep the class unless the request allows less.',
  'Preferences.auto': 'For requests to `/auto` only.',
  // Not `patternProperties`: generators turn it into an index signature, which contradicts the other fields.
  ChatRequest:
    'A field `<provider id>_parameters` is an object (or null) for that provider only. ' +
    'It has the parameters that only the API of this provider accepts. Every provider accepts `strip_thinking_response`.',
  'ChatRequest.model': modelId,
  'ChatRequest.models': 'Models to fall back to. At most 3, and `model` counts as the first.',
  'ChatRequest.stream': 'Send the answer as server-sent events.',
  'ChatRequest.max_tokens': 'The same as `max_completion_tokens`. Different values are refused.',
  'ChatRequest.provider': policy,
  'ChatRequest.reasoning_effort': effort,
  'ChatRequest.n': 'Only 1.',
  'ChatRequest.user': 'Accepted and not forwarded to providers.',
  'SealedQuestion.family': 'The provider family whose enclave the body is encrypted for.',
  'EmbeddingsRequest.model': modelId,
  'EmbeddingsRequest.input': {
    description: 'A text, up to 2048 texts, a token array, or up to 2048 token arrays.',
    anyOf: [
      text,
      { type: 'array', minItems: 1, maxItems: 2048, items: text },
      tokens,
      { type: 'array', minItems: 1, maxItems: 2048, items: tokens },
    ],
  },
  'EmbeddingsRequest.provider': policy,
  'ImageRequest.size': {
    description: '`WIDTHxHEIGHT`, each from 128 to 2048. Default 1024x1024.',
    pattern: '^[1-9][0-9]{2,3}x[1-9][0-9]{2,3}$',
  },
  'SpeechRequest.input': 'The text, up to 20,000 UTF-16 code units.',
  'SpeechRequest.voice': "The provider's name of a voice.",
  'TicketRequest.model': modelId,
  'TicketRequest.operation': 'The operation that the ticket is for. Default: the operation of the model.',
  'TicketRequest.provider': 'The same value as in the body that you will send.',
  'TicketRequest.reasoning_effort': 'The same value as in the body that you will send.',
  'TicketRequest.size': {
    description: 'For images: `WIDTHxHEIGHT`, each from 128 to 2048.',
    pattern: '^[1-9][0-9]{2,3}x[1-9][0-9]{2,3}$',
  },
  'TicketRequest.input_chars': 'For speech: the exact length of the text in UTF-16 code units.',
  'CreateKey.credit_limit_usd': 'The most that the key can spend in total, in USD.',
  'CreateKey.openai_compatible': 'Whether the key may be sent to the confidential origin. Default true.',
  'UpdateKey.credit_limit_usd': 'Null removes the limit.',
  'SetBudget.limit_usd': 'The most that a UTC month may cost, in USD. 0 stops all requests that cost something.',
  'SetBudget.member_id': 'The budget limits the keys that this member created in the workspace.',
  'SetBudget.key_id': 'The budget limits this key.',
  'Budget.spent_usd': 'The charges of the month. Running requests count against the budget, but are not in this sum.',
  'SetAlertWebhook.url': 'https, leading to a public address. Redirects are not followed.',
  'WebhookDelivery.outcome':
    '`refused`: the server answered with another status than 2xx. `unreachable`: no connection, or no valid certificate.',
  'CreateApp.homepage': 'https, or http on loopback.',
  'CreateApp.type':
    '`confidential`: a server that can keep a secret. `public`: runs in browsers or on devices and has no secret.',
  'CreateApp.redirect_uris': 'https, or http on loopback. Compared exactly.',
  'CreateApp.scopes': 'The scopes that the app can request.',
  'UpdateApp.redirect_uris': 'A change ends all grants of the app.',
  'AllowInteraction.workspace_id':
    'The workspace whose models, limits and balance the app uses. Default: the default workspace.',
  'AllowInteraction.credit_limit_usd':
    'The most that the app can spend in total, in USD. Null: no limit. Required if it requests `inference`.',
  'App.client_secret': 'Only in the answer that created it.',
  'Grant.key_id': 'The key that usage lists the requests of the app under. Its secret does not exist.',
  'Grant.ended_at': 'Null while the grant is active.',
  'Interaction.verified': 'Always false: publishers of apps are not verified.',
  'SetMonthlyGrant.amount_usd': 'USD a month. Null: the amount of the deployment, `MONTHLY_GRANT_USD`.',
  'Account.monthly_grant': 'Null: this deployment gives no monthly grants.',
  'MonthlyGrant.spent': 'The sum of booked requests that the grant has paid. Running requests are not in this sum.',
  'MonthlyGrant.renews_at': 'When what is left expires, and the next grant comes.',
  'CreateOrder.save_card': 'Consent to keep the card for auto top-up. Only with the rail `card`.',
  Error: 'The body of every error.',
  'Error.message': 'Says what failed and how to fix it.',
  'Error.type': 'The machine-readable name of the error.',
  'Error.code': 'The same as `type`, for OpenAI clients. `context_length_exceeded` if the conversation is too long.',
  'Error.param': 'The field at fault, or null.',
  'Error.request_id': 'The id of this request. Name it when you report a problem.',
  'Usage.cost': usd,
  'ChatCompletion.model': 'The canonical id of the model that served.',
  'ChatCompletion.reasoning':
    'The thoughts of the model, if its provider shows them. `reasoning_content` has the same text.',
  'Ticket.privacy_class': 'The weakest class that the policy allows.',
  Pricing: 'USD per million tokens, per image, per million input characters.',
  'Model.auto_provider': 'The provider that Auto would choose now.',
  'Uptime.success_rate': 'From 0 to 1.',
  'UsagePage.at': 'The minute in which the request ended.',
  'UsagePage.kept_from': 'Rows before this month were deleted. Their daily sums stay. Null: none were deleted.',
  'UsagePage.failed_attempts':
    'The attempts before the last, in order. A refusal of the request reads `provider`. Empty: there was none, or they are not known. In CSV: `acme:timeout acme/eu:provider`.',
  'UsagePage.estimated': 'The provider reported no usage, so Sotto counted the tokens.',
  'Key.key': 'The secret. Only in the answer that created it.',
  'NewKey.key': 'The secret. Only this answer has it.',
  'Order.amount': 'The amount that is added to the balance.',
  'Order.total': 'The price: amount and fee.',
};

type Mutable = { [keyword: string]: unknown };

/**
 * Writes notes into named schemas, in place. A note is for a component (`Pricing`) or for every field of a name in it, at any
 * depth (`Uptime.success_rate`). Throws if a note matches nothing, because its subject was removed or renamed.
 */
export function annotate(
  schemas: Readonly<Record<string, JsonSchema>>,
  notes: Readonly<Record<string, string | JsonSchema>>,
): void {
  for (const [place, note] of Object.entries(notes)) {
    const [component = '', field, ...more] = place.split('.');
    if (more.length > 0) throw new Error(`the note about ${place} names more than a field`);
    const schema = schemas[component];
    if (schema === undefined) continue;
    const found = field === undefined ? [schema] : fieldsNamed(field, schema);
    if (found.length === 0) throw new Error(`a note about ${place}, which there is not`);
    for (const target of found)
      Object.assign(target as Mutable, typeof note === 'string' ? { description: note } : note);
  }
}

function fieldsNamed(name: string, schema: unknown): JsonSchema[] {
  if (Array.isArray(schema)) return schema.flatMap((each) => fieldsNamed(name, each));
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties, items, anyOf, oneOf, allOf } = schema as Mutable;
  const own = Object.entries((properties ?? {}) as Record<string, JsonSchema>);
  return [
    ...own.filter(([each]) => each === name).map(([, found]) => found),
    ...own.filter(([each]) => each !== name).flatMap(([, inner]) => fieldsNamed(name, inner)),
    ...[items, anyOf, oneOf, allOf].flatMap((inner) => fieldsNamed(name, inner)),
  ];
}
