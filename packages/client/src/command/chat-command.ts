import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { ChatStreamReader } from '@sotto/dialects';
import { asString, headerNames, operationPaths, parseJson } from '@sotto/wire';
import { bounded, readText } from '../bounded-body.ts';
import { secureRandom, toHex } from '../e2ee/bytes.ts';
import type { EnclaveExchange } from '../enclave/enclave-exchange.ts';
import { ClientError } from '../errors.ts';
import type { Exchange } from '../private/private-exchange.ts';
import { openService } from './open-service.ts';
import { required, serviceHelp, serviceOptions } from './settings.ts';
import { showReceipts } from './show-receipts.ts';
import { type ExitCode, printable, type Terminal, UsageError } from './terminal.ts';

export const chatHelp = `sotto chat: chat with a model through the verified private flow.

Each line that you type is a message. The command sends the whole conversation with it.
Ctrl-C stops an answer. /exit or Ctrl-D ends the chat.

  --model MODEL        the model to chat with, such as creator/model
  --system TEXT        the system message
  --provider PROVIDER  use only this provider
  --receipts           with --e2ee: show the hashes of both ciphertexts, and verify the receipts of the broker and of the
                       enclave. They show whether the broker changed or wrote the reply, not whether it read the prompt
${serviceHelp}

Exit codes: 0 the chat ended; 1 the verdict is too weak, or the service refused the key or, with piped input, the last message;
2 wrong command line; 3 no connection or no evidence.
`;

interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

interface Conversation {
  readonly exchange: Exchange;
  readonly model: string;
  readonly provider: string | undefined;
  readonly show: (text: string) => void;
}

/** Runs `sotto chat`. */
export async function chatCommand(terminal: Terminal, args: readonly string[]): Promise<ExitCode> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...serviceOptions,
      model: { type: 'string' },
      system: { type: 'string' },
      provider: { type: 'string' },
      receipts: { type: 'boolean' },
    },
  });
  const model = required(
    '--model',
    values.model,
    'Pass one, such as --model creator/model. GET /v1/models lists them.',
  );
  if (values.receipts && !values.e2ee) throw new UsageError('--receipts needs --e2ee.');
  let exchanged: EnclaveExchange | undefined;
  const client = await openService(terminal, values, {
    onEnclaveExchange: (exchange) => {
      exchanged = exchange;
    },
  });
  if (typeof client === 'number') return client;
  const show = (text: string): void => terminal.out(printable(text));
  const conversation = { exchange: client.exchange, model, provider: values.provider, show };
  const receipts = values.receipts === true;
  let messages: readonly Message[] = values.system === undefined ? [] : [{ role: 'system', content: values.system }];
  const lines = createInterface({ input: terminal.input, terminal: false });
  let answering: AbortController | undefined;
  /** Of the last message. */
  let hasFailed = false;
  let isRefused = false;
  const stop = terminal.onInterrupt(() => {
    if (answering === undefined) lines.close();
    else answering.abort();
  });
  const prompt = (): void => {
    if (terminal.input.isTTY) terminal.note('> ');
  };
  prompt();
  for await (const line of lines) {
    const text = line.trim();
    if (text === '/exit') break;
    if (text !== '') {
      answering = new AbortController();
      hasFailed = false;
      exchanged = undefined;
      const secret = receipts ? toHex(secureRandom(32)) : undefined;
      messages = await turn(conversation, [...messages, { role: 'user', content: text }], {
        signal: answering.signal,
        secret,
        fail: (reason, status) => {
          terminal.note(`${printable(reason)}\n`);
          hasFailed = true;
          isRefused = status === 401 || status === 403;
        },
      });
      if (secret !== undefined && exchanged !== undefined && !hasFailed) {
        const asked = { session: client.session, exchange: exchanged, secret, signal: answering.signal };
        hasFailed = !(await showReceipts(asked, (line) => terminal.note(`${printable(line)}\n`)));
      }
      answering = undefined;
    }
    // No later message of this key can succeed.
    if (isRefused) break;
    prompt();
  }
  stop();
  lines.close();
  client.session.close();
  return isRefused || (hasFailed && !terminal.input.isTTY) ? 1 : 0;
}

/**
 * Asks for one answer and shows it as it arrives. Resolves to the conversation so far, without the message of a failed
 * turn.
 */
async function turn(
  { exchange, model, provider, show }: Conversation,
  messages: readonly Message[],
  {
    signal,
    secret,
    fail,
  }: {
    readonly signal: AbortSignal;
    /** Opens the receipt of this turn. Undefined: no receipt is kept. */
    readonly secret: string | undefined;
    readonly fail: (reason: string, status?: number) => void;
  },
): Promise<readonly Message[]> {
  let said = '';
  try {
    const body = JSON.stringify({ model, messages, stream: true, ...(provider === undefined ? {} : { provider }) });
    const header = (name: string): string | undefined => (name === headerNames.receipt ? secret : undefined);
    const answer = await exchange.ask({ method: 'POST', path: operationPaths.chat, header, body, signal });
    if (answer.status !== 200) {
      fail(
        errorIn(await readText(answer.body, signal)) ?? `The service answered with status ${answer.status}.`,
        answer.status,
      );
      return messages.slice(0, -1);
    }
    let failure: string | undefined;
    const reader = new ChatStreamReader({
      chunk({ choices, error }) {
        if (error !== undefined) failure ??= `${error.type}: ${error.message}`;
        const text = asString(choices?.[0]?.delta?.content) ?? '';
        said += text;
        show(text);
      },
    });
    for await (const piece of bounded(answer.body)) reader.push(piece);
    reader.end();
    show('\n');
    if (failure !== undefined) fail(failure);
  } catch (error) {
    show('\n');
    if (!signal.aborted)
      fail(
        error instanceof ClientError
          ? `${error.code}: ${error.message}`
          : 'The answer ended early. Send the message again.',
      );
  }
  return said === '' ? messages.slice(0, -1) : [...messages, { role: 'assistant', content: said }];
}

/** Returns the error that an envelope holds, as `type: message`. */
function errorIn(text: string): string | undefined {
  const { error } = (parseJson(text) ?? {}) as {
    readonly error?: { readonly type?: unknown; readonly message?: unknown };
  };
  return error === undefined ? undefined : `${String(error.type)}: ${String(error.message)}`;
}
