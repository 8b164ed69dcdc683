import { type IncomingMessage, request } from 'node:http';
import { Answer } from './answer.ts';
import { credentialFor, type Flow } from './client.ts';
import type { Service, TestAccount } from './service.ts';

/** An open request of a client that can read slowly or leave. */
export interface OpenRequest {
  /** Resolves with the headers of the answer. */
  readonly response: Promise<IncomingMessage>;
  /** The text read so far. */
  readonly received: string;
  /** Resolves when everything was read, or when no more can arrive. */
  readonly ended: Promise<void>;
  /** Closes the connection at once. */
  leave(): void;
}

/** Sends a chat request on its own connection. With `reading: false` the client leaves the answer unread. */
export async function openRequest(
  service: Service,
  account: TestAccount,
  body: Record<string, unknown>,
  { flow = 'compatibility', reading = true }: { readonly flow?: Flow; readonly reading?: boolean } = {},
): Promise<OpenRequest> {
  const asked: Record<string, unknown> = { messages: [{ role: 'user', content: 'Go on.' }], ...body };
  const credential = await credentialFor(service, account.inferenceKey, asked, flow);
  if (credential instanceof Answer) throw new Error(`no ticket: ${credential.status}`);
  const pieces: Buffer[] = [];
  const sent = request(`${service.baseUrl}/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { ...credential, 'content-type': 'application/json' },
  });
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
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
