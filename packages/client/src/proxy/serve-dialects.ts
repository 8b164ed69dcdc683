import { randomUUID } from 'node:crypto';
import {
  type ChatFailure,
  countGeminiTokens,
  countTokens,
  decodedName,
  type GeminiCall,
  geminiCall,
  geminiFailure,
  geminiModel,
  geminiModels,
  KeptAnswers,
  type ModelRule,
  messagesFailure,
  messagesModels,
  parseExact,
  prepareResponse,
  type ResponsesOptions,
  readResponsesRequest,
  responsesFailure,
  translateCompaction,
  translateGemini,
  translateMessages,
  translateResponses,
  type WrittenAnswer,
} from '@sotto/dialects';
import { asObject, operationPaths, parseJson, ServiceError } from '@sotto/wire';
import type { ContentAnswer } from '../gateway/platform.ts';
import { type AskedRequest, askForModels, type Exchange } from '../private/private-exchange.ts';
import { SentRequests } from '../private/sent-requests.ts';
import { ModelCatalog } from './model-catalog.ts';
import { onePiece, rewritten } from './rewritten-answer.ts';
import { type DialectRoute, failureOf, serveTranslation, writtenAnswer } from './serve-translation.ts';

export interface DialectOptions {
  readonly exchange: Exchange;
  readonly models: { readonly rules: readonly ModelRule[]; readonly fallback: string | undefined };
  readonly onNote: (text: string) => void;
}

/** A request of a tool, by a request of its own or within a socket. */
export type DialectRequest = AskedRequest & { readonly isSocket?: boolean };
export type ServeDialect = (asked: DialectRequest) => Promise<ContentAnswer>;

/**
 * Returns the function that answers the requests of tools. Anthropic's Messages (Claude Code), OpenAI's Responses (Codex)
 * and Google's Gemini API (Gemini CLI) are translated into chat completions and back. Everything else goes through the
 * private flow as it is.
 */
export function makeDialects({ exchange, models: naming, onNote }: DialectOptions): ServeDialect {
  const catalog = new ModelCatalog({ exchange, ...naming, now: Date.now });
  const broken = new SentRequests(Date.now);
  const kept = new KeptAnswers();
  const noted = new Set<string>();
  const note = (text: string): void => {
    if (noted.has(text) || noted.size >= maxNotes) return;
    noted.add(text);
    onNote(text);
  };
  const mapsNames = naming.rules.length > 0 || naming.fallback !== undefined;
  const translate = async (asked: AskedRequest, route: DialectRoute, isAgent: boolean): Promise<ContentAnswer> => {
    await catalog.ready();
    return serveTranslation({ exchange, asked, models: catalog.models, route, isAgent, broken, note });
  };
  const prepare = async ({ body }: AskedRequest): Promise<ContentAnswer> => {
    await catalog.ready();
    try {
      const events = prepareResponse(parseExact(body), catalog.models, kept, randomUUID());
      return writtenAnswer({ status: 200, headers: { 'content-type': 'text/event-stream' }, body: events });
    } catch (error) {
      return writtenAnswer(responsesFailure(await failureOf(error), { isCodex: false, translation: undefined }));
    }
  };
  const serveGemini = async (asked: AskedRequest, call: GeminiCall): Promise<ContentAnswer> => {
    if (call.method === 'countTokens') return count(asked.body, countGeminiTokens, geminiFailure);
    if (!/^(?:generate|streamGenerate)Content$/.test(call.method)) return notOfGoogles();
    const route: DialectRoute = {
      translate: (value, models) => translateGemini(value, call, models),
      failure: geminiFailure,
    };
    return translate(asked, route, /^GeminiCLI/.test(asked.header('user-agent') ?? ''));
  };
  return async (asked) => {
    const caller = callerOf(asked.header);
    const call = geminiCall(asked.path);
    if (asked.method === 'POST' && call !== undefined) return serveGemini(asked, call);
    if (isGoogles(asked.path)) return listGeminiModels(catalog, asked);
    switch (`${asked.method} ${asked.path.replace(/\?.*$/, '')}`) {
      case 'POST /v1/messages':
        return translate(asked, messagesRoute, caller.isAgent);
      case 'POST /v1/messages/count_tokens':
        return count(asked.body, countTokens, messagesFailure);
      case 'POST /v1/responses':
        if (asked.isSocket && asObject(parseJson(asked.body))?.generate === false) return prepare(asked);
        return translate(asked, responsesRoute({ ...caller, kept, keepsAll: asked.isSocket ?? false }), caller.isAgent);
      case 'POST /v1/responses/compact':
        return translate(asked, responsesRoute({ ...caller, kept }, translateCompaction), caller.isAgent);
      case 'GET /v1/models':
        return listModels(exchange, catalog, asked, caller);
      case `POST ${operationPaths.chat}`:
        if (mapsNames) await catalog.ready();
        return exchange.ask({ ...asked, body: chatBody(asked.body, catalog, mapsNames) });
      default:
        return exchange.ask(asked);
    }
  };
}

/** More different things to note than this are noise. */
const maxNotes = 256;

const messagesRoute: DialectRoute = { translate: translateMessages, failure: messagesFailure };

const responsesRoute = (options: ResponsesOptions, translate = translateResponses): DialectRoute => ({
  translate: (value, models) => translate(value, models, options),
  failure: (failure, translation) => responsesFailure(failure, { isCodex: options.isCodex, translation }),
});

async function count(
  body: string,
  counts: (value: unknown) => object,
  failure: (failure: ChatFailure) => WrittenAnswer,
): Promise<ContentAnswer> {
  try {
    return answerOf(counts(parseJson(body)));
  } catch (error) {
    return writtenAnswer(failure(await failureOf(error)));
  }
}

const answerOf = (value: object): ContentAnswer =>
  writtenAnswer({
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: JSON.stringify(value),
  });

/** Whether a path is one of Google's API alone. */
const isGoogles = (path: string): boolean => /^\/v1(?:beta|alpha)\//.test(path);

/** Returns how errors of a path are written, if not as OpenAI writes them. */
export function failureOfPath(path: string): ((failure: ChatFailure) => WrittenAnswer) | undefined {
  if (/^\/v1\/messages(?:[/?]|$)/.test(path)) return messagesFailure;
  return isGoogles(path) || geminiCall(path) !== undefined ? geminiFailure : undefined;
}

/** Lists the models as Google's API does, or describes one. */
async function listGeminiModels(catalog: ModelCatalog, { method, path }: AskedRequest): Promise<ContentAnswer> {
  const [found, name] = /^\/v1(?:beta|alpha)\/models(?:\/([^?]+))?(?:\?|$)/.exec(path) ?? [];
  if (method !== 'GET' || found === undefined) return notOfGoogles();
  await catalog.ready();
  if (name === undefined) return answerOf(geminiModels(catalog.list));
  const model = catalog.models.find(catalog.models.resolve(decodedName(name)));
  return model === undefined ? notOfGoogles() : answerOf(geminiModel(model));
}

async function notOfGoogles(): Promise<ContentAnswer> {
  const message =
    'Of Google’s API, this proxy has `generateContent`, `streamGenerateContent` and `countTokens` of a model of the catalog, and the list of models.';
  return writtenAnswer(geminiFailure(await failureOf(new ServiceError('not_found', { message }))));
}

/** Lists the models in the form that the caller reads. */
async function listModels(
  exchange: Exchange,
  catalog: ModelCatalog,
  asked: AskedRequest,
  { readsAnthropic }: Caller,
): Promise<ContentAnswer> {
  if (readsAnthropic) {
    await catalog.ready();
    return answerOf(messagesModels(catalog.list));
  }
  if (!/[?&]client_version=/.test(asked.path)) return exchange.ask(asked);
  const answer = await askForModels(exchange);
  if (answer.list === undefined) return rewritten(answer, onePiece(answer.text));
  return answerOf({ ...asObject(answer.list), models: codexModels });
}

/**
 * The list that Codex requires beside `data`. It is empty: an entry replaces Codex's own instructions to the model, and
 * only OpenAI has better ones. Codex then uses its built-in instructions. Its configuration names the model, and with
 * `model_context_window` also how much it holds.
 */
const codexModels: readonly object[] = [];

/**
 * Returns the body of a chat request with the model of the catalog. Cursor sends bodies of the Responses API here and
 * expects chat completions back, so only the request is translated. Any other body stays as it is.
 */
function chatBody(body: string, { models }: ModelCatalog, mapsNames: boolean): string {
  if (!mapsNames && !body.includes('"input"')) return body;
  const request = asObject(parseExact(body));
  if (request === undefined) return body;
  if (request.input !== undefined && request.messages === undefined) {
    return JSON.stringify(readResponsesRequest(request, models).body);
  }
  if (!mapsNames || typeof request.model !== 'string') return body;
  const model = models.resolve(request.model);
  return model === request.model ? body : JSON.stringify({ ...request, model });
}

/** Which program asks, as far as its answers differ. */
interface Caller {
  readonly isCodex: boolean;
  /** Whether it is an agent that sends a failed request again by itself, without saying that it is a second try. */
  readonly isAgent: boolean;
  /** Whether it reads Anthropic's lists and errors. */
  readonly readsAnthropic: boolean;
}

function callerOf(header: (name: string) => string | undefined): Caller {
  const program = header('user-agent') ?? '';
  const isCodex = header('originator') !== undefined || program.startsWith('codex');
  return {
    isCodex,
    isAgent: isCodex || /^claude-(?:cli|code)\//.test(program),
    readsAnthropic: header('anthropic-version') !== undefined || header('x-api-key') !== undefined,
  };
}
