import {
  countTokens,
  type ModelRule,
  messagesFailure,
  messagesModels,
  parseExact,
  readResponsesRequest,
  responsesFailure,
  translateMessages,
  translateResponses,
} from '@sotto/dialects';
import { asObject, operationPaths, parseJson } from '@sotto/wire';
import type { ContentAnswer } from '../gateway/platform.ts';
import type { AskedRequest, Exchange } from '../private/private-exchange.ts';
import { SentRequests } from '../private/sent-requests.ts';
import { ModelCatalog } from './model-catalog.ts';
import { type DialectRoute, failureOf, serveTranslation, writtenAnswer } from './serve-translation.ts';

export interface DialectOptions {
  readonly exchange: Exchange;
  readonly models: { readonly rules: readonly ModelRule[]; readonly fallback: string | undefined };
  readonly onNote: (text: string) => void;
}

export type ServeDialect = (asked: AskedRequest) => Promise<ContentAnswer>;

/**
 * Returns the function that answers the requests of tools. Anthropic's Messages (Claude Code) and OpenAI's Responses
 * (Codex) are translated into chat completions and back. Everything else goes through the private flow as it is.
 */
export function makeDialects({ exchange, models: naming, onNote }: DialectOptions): ServeDialect {
  const catalog = new ModelCatalog({ exchange, ...naming, now: Date.now });
  const broken = new SentRequests(Date.now);
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
  return async (asked) => {
    const caller = callerOf(asked.header);
    switch (`${asked.method} ${asked.path.replace(/\?.*$/, '')}`) {
      case 'POST /v1/messages':
        return translate(asked, messagesRoute, caller.isAgent);
      case 'POST /v1/messages/count_tokens':
        return count(asked);
      case 'POST /v1/responses':
        return translate(asked, responsesRoute(caller), caller.isAgent);
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

const responsesRoute = ({ isCodex }: Caller): DialectRoute => ({
  translate: (value, models) => translateResponses(value, models, isCodex),
  failure: (failure, translation) => responsesFailure(failure, { isCodex, translation }),
});

async function count({ body }: AskedRequest): Promise<ContentAnswer> {
  try {
    const counted = JSON.stringify(countTokens(parseJson(body)));
    return writtenAnswer({ status: 200, headers: { 'content-type': 'application/json' }, body: counted });
  } catch (error) {
    return writtenAnswer(messagesFailure(await failureOf(error)));
  }
}

/** Lists the models in the form that the caller reads. */
async function listModels(
  exchange: Exchange,
  catalog: ModelCatalog,
  asked: AskedRequest,
  { readsAnthropic }: Caller,
): Promise<ContentAnswer> {
  const json = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  if (readsAnthropic) {
    await catalog.ready();
    return writtenAnswer({ status: 200, headers: json, body: JSON.stringify(messagesModels(catalog.list)) });
  }
  const isCodex = /[?&]client_version=/.test(asked.path);
  const answer = await exchange.ask(isCodex ? { ...asked, path: '/v1/models' } : asked);
  if (!isCodex || answer.status !== 200) return answer;
  const listed = asObject(await answer.toResponse().json());
  return writtenAnswer({ status: 200, headers: json, body: JSON.stringify({ ...listed, models: codexModels }) });
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
