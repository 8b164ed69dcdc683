import { readJsonBody } from '@sotto/server';
import {
  FrameMeter,
  parseRequest,
  type ReasoningSelection,
  type RelayRule,
  type RelayVariant,
  type SealedChat,
  ServiceError,
  sealedChatSchema,
  sealedContentBytes,
} from '@sotto/wire';
import { requestedCeiling } from '../chat/chat-question.ts';

/** The parts of a sealed body that a relay can read. */
export interface SealedBody {
  /** The body around contents that were sealed one by one; undefined if all of it is sealed. */
  readonly chat?: SealedChat;
  readonly plaintextBytes: number;
  readonly maxOutputTokens?: number | undefined;
}

/** The properties of the body that the headers announce. */
interface Announced {
  readonly stream: boolean;
  readonly reasoning: ReasoningSelection;
  readonly rule: RelayRule;
  readonly variant: RelayVariant;
}

/**
 * Reads the parts of a sealed body that its family leaves in clear, and compares them with the announcement. Throws if
 * they are invalid, or if anything might be content in clear.
 */
export function readSealedBody(body: Buffer, announced: Announced): SealedBody {
  if (body.length === 0) throw invalid('The body is empty; send the sealed request.');
  const { rule, variant } = announced;
  if (variant.fieldOverheadBytes !== undefined) return readFields(body, variant.fieldOverheadBytes, announced);
  return { plaintextBytes: rule.metering === 'frames' ? framedBytes(body) : 0 };
}

function readFields(body: Buffer, overheadBytes: number, { stream, reasoning }: Announced): SealedBody {
  const parsed = readJsonBody(body);
  const chat = parseRequest(sealedChatSchema(overheadBytes), parsed);
  assertSaidOnce(body, parsed);
  if (chat.stream !== stream) throw invalid('`stream` differs from what the header `x-router-e2ee` says.', 'stream');
  if (chat.reasoning_effort !== reasoning.effort) {
    throw new ServiceError('ticket_reasoning_mismatch', {
      message: '`reasoning_effort` differs from what the header `x-router-e2ee` says, which the ticket binds.',
      param: 'reasoning_effort',
    });
  }
  const ceiling = requestedCeiling(chat);
  if (ceiling === undefined) {
    throw invalid(
      '`max_tokens` is required here: nobody but its client can put an output ceiling into a sealed body.',
      'max_tokens',
    );
  }
  return { chat, plaintextBytes: sealedContentBytes(chat, overheadBytes), maxOutputTokens: ceiling };
}

/**
 * The bytes go on as they came. If a name occurs twice, the provider's parser may take the value that this parser
 * ignored. So the checked names must be all there are. Each name and each text has two quotation marks, so counting
 * these finds a repeated name.
 */
function assertSaidOnce(body: Buffer, parsed: object): void {
  if (quotesIn(body) !== quotesIn(Buffer.from(JSON.stringify(parsed)))) {
    throw invalid('A name occurs twice in the body, or holds an escape: write each once and plainly.');
  }
}

function quotesIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(0x22); at !== -1; at = bytes.indexOf(0x22, at + 1)) count += 1;
  return count;
}

/** Returns the plaintext bytes of a body in frames. Throws if the frames do not fill it. */
function framedBytes(body: Buffer): number {
  const meter = new FrameMeter();
  meter.push(body);
  if (!meter.isBetweenFrames || meter.plaintextBytes === 0) {
    throw invalid('The body must be whole frames: a length of four bytes, then as much ciphertext.');
  }
  return meter.plaintextBytes;
}

const invalid = (message: string, param?: string): ServiceError =>
  new ServiceError('invalid_request', { message, param });
