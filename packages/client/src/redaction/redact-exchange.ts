import { createHash, randomBytes } from 'node:crypto';
import { parseExact } from '@sotto/dialects';
import { asArray, asObject, type JsonObject, operationAt, ServiceError, sseDone, sseFrame } from '@sotto/wire';
import { answerFrom, answerOfRefusal } from '../answer.ts';
import type { Exchange } from '../private/private-exchange.ts';
import { eventsAnew, isEventStream, rewritten, rewrittenWhole } from '../proxy/rewritten-answer.ts';
import { type Detect, makeDetector } from './detector.ts';
import type { Finding } from './finding.ts';
import { hasMedia, mapTexts } from './map-texts.ts';
import { Placeholders } from './placeholders.ts';
import { AnswerRestorer, inJson } from './restore-answer.ts';

export interface RedactionOptions {
  /** Values that are always replaced. */
  readonly known: readonly Finding[];
  /** Called with what the user should know about requests, without content. */
  readonly note: (text: string) => void;
}

/**
 * Replaces what the detector finds in chats by placeholders before they are sent, and puts the values back into the answers,
 * also into the arguments of tool calls. It keeps nothing between requests: agents send the whole conversation each time.
 */
export function redactChats(exchange: Exchange, { known, note }: RedactionOptions): Exchange {
  const detect = makeDetector(known);
  const secret = randomBytes(32);
  let hasNoted = false;
  return {
    async ask(asked) {
      const operation = asked.method === 'POST' ? operationAt(asked.path) : undefined;
      if (operation === undefined) return exchange.ask(asked);
      if (operation !== 'chat')
        return answerFrom(answerOfRefusal(new ServiceError('forbidden', { message: chatsOnly })));
      const request = asObject(parseExact(asked.body));
      // The service says what is wrong with it. Nothing of it was looked at, so none of it is sent.
      if (request === undefined) return exchange.ask({ ...asked, body: '' });
      if (!hasNoted && hasMedia(request)) {
        hasNoted = true;
        note(mediaNote);
      }
      const placeholders = new Placeholders(secret, conversationOf(request));
      const redacted = await redact(request, detect, placeholders);
      if (placeholders.size === 0) return exchange.ask(asked);
      const answer = await exchange.ask({ ...asked, body: JSON.stringify(redacted) });
      const restorer = new AnswerRestorer(placeholders, request.response_format !== undefined);
      if (isEventStream(answer)) {
        const event = (text: string): string => (text === '[DONE]' ? sseDone : sseFrame(restorer.restore(text)));
        return rewritten(answer, eventsAnew(answer.body, { event }));
      }
      return rewrittenWhole(answer, asked.signal, (bytes) => {
        const text = new TextDecoder().decode(bytes);
        const restored = restorer.restore(text);
        // Also the text of a refusal may quote the request.
        return restored === text ? placeholders.restore(text, inJson) : restored;
      });
    },
  };
}

const chatsOnly =
  'This proxy replaces personal data and secrets by placeholders (--redact), and they would stay in the result of such a request. ' +
  'Start another proxy without --redact for it.';

const mediaNote = 'A request has an image, a sound or a file. --redact reads text only, so it was sent as it is.';

/** The first message of the user: an agent that sends a conversation again leaves it as it was. */
function conversationOf({ messages }: JsonObject): string {
  const first = (asArray(messages) ?? []).find((message) => asObject(message)?.role === 'user');
  const texts: string[] = [];
  mapTexts({ first }, (text) => {
    texts.push(text);
    return text;
  });
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex');
}

async function redact(request: JsonObject, detect: Detect, placeholders: Placeholders): Promise<JsonObject> {
  const texts = new Set<string>();
  mapTexts(request, (text) => {
    texts.add(text);
    return text;
  });
  const found = new Map<string, Finding>();
  for (const text of texts) {
    for (const finding of await detect(text)) if (!found.has(finding.value)) found.set(finding.value, finding);
  }
  // What was found in one text is replaced in all. The longest first: a name can be part of an address.
  const findings = [...found.values()].sort((one, other) => other.value.length - one.value.length);
  return mapTexts(request, (text) => replaced(text, findings, placeholders));
}

function replaced(text: string, findings: readonly Finding[], placeholders: Placeholders): string {
  const here = new Map(findings.filter(({ value }) => text.includes(value)).map((finding) => [finding.value, finding]));
  if (here.size === 0) return text;
  const pattern = new RegExp([...here.values()].map(patternOf).join('|'), 'gu');
  return text.replace(pattern, (value) => {
    const finding = here.get(value);
    return finding === undefined ? value : placeholders.of(finding);
  });
}

/** Ann is not in Anna. A secret may stand in the middle of a word: `mysql -pSECRET`. */
function patternOf({ kind, value }: Finding): string {
  const escaped = value.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  if (kind === 'SECRET' || kind === 'WORD') return escaped;
  const before = /^[\p{L}\p{N}]/u.test(value) ? '(?<![\\p{L}\\p{N}])' : '';
  const after = /[\p{L}\p{N}]$/u.test(value) ? '(?![\\p{L}\\p{N}])' : '';
  return `${before}${escaped}${after}`;
}
