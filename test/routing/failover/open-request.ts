import { type IncomingMessage, request } from 'node:http';
import type { Service, TestAccount } from '../../kit/service.ts';
import { credentialFor, type Flow } from './ask.ts';

/** A request under way, of a client that may be slow or leave. */
export interface OpenRequest {
  /** Resolves with the headers of the answer. */
  readonly response: Promise<IncomingMessage>;
  /** What was read so far. */
  readonly received: string;
  /** Resolves when everything was read, or nothing more will come. */
  readonly ended: Promise<void>;
  /** Closes the connection at once. */
  leave(): void;
}

/** Sends a chat request on a connection of its own. With `reading: false` the answer is left where it is. */
export async function openRequest(
  service: Service,
  account: TestAccount,
  body: Record<string, unknown>,
  { flow = 'compatibility', reading = true }: { readonly flow?: Flow; readonly reading?: boolean } = {},
): Promise<OpenRequest> {
  const asked: Record<string, unknown> = { messages: [{ role: 'user', content: 'Go on.' }], ...body };
  const credential = await credentialFor(service, account, asked, flow);
  if (credential instanceof Response) throw new Error(`no ticket: ${credential.status}`);
  const pieces: Buffer[] = [];
  const sent = request(`${service.baseUrl}/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { ...credential, 'content-type': 'application/json' },
  });
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', (incoming) => {
      resolve(incoming);
      incoming.once('close', end);
      incoming.on('error', () => {});
      if (reading) incoming.on('data', (piece: Buffer) => pieces.push(piece));
    });
    sent.once('error', reject);
    sent.once('close', end);
  });
  response.catch(() => {});
  sent.end(JSON.stringify(asked));
  return {
    response,
    get received() {
      return Buffer.concat(pieces).toString('utf8');
    },
    ended,
    leave: () => sent.destroy(),
  };
}
