import type { JsonSchema } from '../route.ts';

const modelId = 'A model id, or `/auto`; `:nitro` sorts its providers by throughput, `:floor` by price.';
const policy = 'Which providers may serve: one id, which pins it, or a policy. Without it, the workspace decides.';
const effort = 'How much to reason, by the levels that the model has.';
const usd = 'USD.';

/**
 * What the generated schemas cannot say: a sentence, or more of a schema, by component and field. A name without a field is
 * the component itself; fields are found at any depth of unions and arrays below it.
 */
export const notes: Readonly<Record<string, string | JsonSchema>> = {
  PrivacyClass:
    'Weakest to strongest. `anonymous`: the provider gets content without identity and may keep it. `private`: contractually neither kept nor trained on. `tee`, `e2ee`: in an attested enclave, which for `e2ee` alone can read it.',
  ProviderId:
    '`acme`, or `acme/eu` for a variant or region of it. `other` stands for every provider that is not listed by name.',
  MaxPrice: 'A ceiling in USD per million tokens; a side that is absent is not limited.',
  ProviderPolicy:
    'One provider id is `{"only": [id], "allow_fallbacks": false}`. A request can tighten what its workspace allows, never loosen it.',
  'ProviderPolicy.order': 'Tried first, in this order.',
  'ProviderPolicy.only': 'Use only these.',
  'ProviderPolicy.ignore': 'Never use these.',
  'ProviderPolicy.allow_fallbacks': 'False: a single attempt, on the first eligible route. Default true.',
  'ProviderPolicy.sort': 'Order of the eligible routes. Default `privacy`.',
  'ProviderPolicy.minimum_privacy': 'The lowest class that any attempt may use.',
  'ProviderPolicy.require_parameters': 'Only routes that take every parameter of the request.',
  'ProviderPolicy.max_attempts': "How many providers may be tried. Default 3, or the workspace's limit.",
  'Preferences.provider_sort': 'For requests that say nothing about providers.',
  'Preferences.privacy_boundary': 'The weakest class that any request may use: `anonymous`, `private` or `tee`.',
  'Preferences.fallback_floor':
    'How far a fallback may step down, never below the boundary; null: not at all, unless the request says so.',
  'Preferences.auto': 'Of requests to `/auto` alone.',
  // Not `patternProperties`: generators turn it into an index signature, which contradicts the other fields.
  ChatRequest:
    'Further fields named `<provider id>_parameters` are objects (or null) for that provider alone. ' +
    'They hold the few parameters that only its API takes. Every provider honours `strip_thinking_response`.',
  'ChatRequest.model': modelId,
  'ChatRequest.models': 'Further models to fall back to; `model` counts as the first of at most 3.',
  'ChatRequest.stream': 'As server-sent events.',
  'ChatRequest.max_tokens': 'The same as `max_completion_tokens`. Sent with different values they are refused.',
  'ChatRequest.provider': policy,
  'ChatRequest.reasoning_effort': effort,
  'ChatRequest.n': 'Only 1.',
  'ChatRequest.user': 'Accepted, and not forwarded as a name for anybody.',
  'SealedQuestion.family': 'Whose enclave the body is sealed for.',
  'EmbeddingsRequest.model': modelId,
  'EmbeddingsRequest.input': {
    description: 'A text, up to 2048 texts, a token array, or up to 2048 token arrays.',
    anyOf: [
      { type: 'string', minLength: 1 },
      { type: 'array', minItems: 1, maxItems: 2048, items: { type: 'string', minLength: 1 } },
      { type: 'array', minItems: 1, items: { type: 'integer', minimum: 0 } },
      {
        type: 'array',
        minItems: 1,
        maxItems: 2048,
        items: { type: 'array', minItems: 1, items: { type: 'integer', minimum: 0 } },
      },
    ],
  },
  'EmbeddingsRequest.provider': policy,
  'ImageRequest.size': {
    description: '`WIDTHxHEIGHT`, each from 128 to 2048. Default 1024x1024.',
    pattern: '^[1-9][0-9]{2,3}x[1-9][0-9]{2,3}$',
  },
  'SpeechRequest.input': 'The text, up to 20,000 UTF-16 code units.',
  'SpeechRequest.voice': "The provider's own name of a voice.",
  'TicketRequest.model': modelId,
  'TicketRequest.operation': 'What the ticket is for. Default: what the model does.',
  'TicketRequest.provider': 'The same as the body will have.',
  'TicketRequest.reasoning_effort': 'The same as the body will have.',
  'TicketRequest.size': {
    description: 'For images: `WIDTHxHEIGHT`, each from 128 to 2048.',
    pattern: '^[1-9][0-9]{2,3}x[1-9][0-9]{2,3}$',
  },
  'TicketRequest.input_chars': 'For speech: the exact length of the text in UTF-16 code units.',
  'CreateKey.credit_limit_usd': 'What the key may ever spend. USD.',
  'CreateKey.openai_compatible': 'Whether the key may be sent to the confidential origin. Default true.',
  'UpdateKey.credit_limit_usd': 'Null removes the limit.',
  'CreateApp.homepage': 'https, or http on loopback.',
  'CreateApp.type':
    '`confidential`: a server that keeps a secret. `public`: runs in browsers or on devices, and has none.',
  'CreateApp.redirect_uris': 'https, or http on loopback; compared exactly.',
  'CreateApp.scopes': 'What it may ask people for.',
  'UpdateApp.redirect_uris': 'Another list ends the grants of the app.',
  'AnswerInteraction.workspace_id': 'Whose models, limits and balance the app uses. Default: the default workspace.',
  'AnswerInteraction.credit_limit_usd':
    'What the app may ever spend, USD; null: no limit. Required where it asks for `inference`.',
  'App.client_secret': 'Only in the answer that made it.',
  'Grant.key_id': 'Under which usage tells what the app did. Nobody holds that key.',
  'Grant.ended_at': 'Null while it is active.',
  'Interaction.app.verified': 'Nobody has checked that an app is whose it says.',
  'CreateOrder.save_card': 'Consent to keep the card for auto top-up; only with the rail `card`.',
  Error: 'The envelope of every failure.',
  'Error.message': 'What was wrong, and what would be right.',
  'Error.type': 'A machine-readable name.',
  'Error.code': 'The same as `type`. OpenAI clients read the name here.',
  'Error.param': 'The one field at fault, or null.',
  'Error.request_id': 'The id of this request; it joins with nothing else.',
  'Usage.cost': usd,
  'ChatCompletion.model': 'The canonical id of the model that served.',
  'ChatChunk.error': 'Only in the last chunk of a stream that broke.',
  'Ticket.privacy_class': 'The weakest class that the policy could reach.',
  Pricing: 'USD per million tokens, per image, per million input characters.',
  'Model.auto_provider': 'The provider that Auto would pick now.',
  'Uptime.success_rate': 'From 0 to 1.',
  'UsagePage.at': 'The minute in which the request ended.',
  'UsagePage.estimated': 'The provider gave no usage, and tokens were counted here.',
  'Key.key': 'The secret: only in the answer that made it.',
  'NewKey.key': 'The secret. It is shown here and never again.',
  'Order.amount': 'What the balance gets.',
  'Order.total': 'What is paid: amount and fee.',
};
