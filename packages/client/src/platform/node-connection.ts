import { TLSSocket } from 'node:tls';
import { type ExportedChannel, tlsExporter } from '@sotto/attestation';
import { type buildConnector, Client } from 'undici';
import { readBounded } from '../bounded-body.ts';
import { ClientError } from '../errors.ts';
import {
  type ContentAnswer,
  type ContentRequest,
  type EvidenceAsked,
  type EvidenceReading,
  evidenceTarget,
  type OriginConnection,
  parseEvidence,
} from '../gateway/platform.ts';
import { sendOver, silenceMs } from './node-send.ts';

const evidenceMs = 60_000;
const maxEvidenceBytes = 16 * 1024 * 1024;

/** One connection to a confidential origin, as HTTP/1.1. It opens with its first request, and never opens again. */
export class NodeConnection implements OriginConnection {
  readonly #client: Client;
  #spki: Uint8Array | undefined;
  #exported: ExportedChannel | undefined;
  #isOpen = true;
  /** Whether the service has announced that it closes the connection after this answer. */
  #isLast = false;

  constructor(origin: string, dial: buildConnector.connector) {
    let dials = 0;
    this.#client = new Client(origin, {
      connect: (options, callback) => {
        dials += 1;
        // The evidence covers the first connection only, and that is gone.
        if (dials > 1) return callback(new ClientError('connection_not_verified'), null);
        dial(options, (...connected) => {
          // Now, because the socket is gone after the answer if the service closes the connection with it.
          this.#spki = spkiOf(connected[1]);
          this.#exported = exportedFrom(connected[1]);
          callback(...connected);
        });
      },
      headersTimeout: silenceMs,
      bodyTimeout: silenceMs,
      keepAliveTimeout: 60_000,
      // A server can ask for longer, and so link more requests to each other.
      keepAliveMaxTimeout: 60_000,
    });
    this.#client.on('disconnect', () => {
      this.#isOpen = false;
    });
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#isLast;
  }

  async readEvidence({ nonce, binding }: EvidenceAsked, signal: AbortSignal): Promise<EvidenceReading> {
    const { statusCode, headers, body } = await this.#client.request({
      method: 'GET',
      path: evidenceTarget({ nonce, binding }),
      headers: { accept: 'application/json' },
      headersTimeout: evidenceMs,
      bodyTimeout: evidenceMs,
      signal,
    });
    this.#isLast = closesAfter(headers.connection);
    const bytes = await readBounded(body, maxEvidenceBytes, signal);
    if (bytes === undefined) throw new ClientError('confidential_unreachable');
    const text = new TextDecoder().decode(bytes);
    const channel = binding === 'channel' ? this.#exported : undefined;
    return { ...parseEvidence(statusCode, text), tlsSpki: this.#spki, channel, connection: this };
  }

  async send(request: ContentRequest, onFree: () => void): Promise<ContentAnswer> {
    const answer = await sendOver(this.#client, request, onFree);
    const [, announced] = answer.headers.find(([name]) => name === 'connection') ?? [];
    this.#isLast = closesAfter(announced);
    return answer;
  }

  close(): void {
    this.#isOpen = false;
    this.#client.destroy().catch(() => undefined);
  }
}

const closesAfter = (connection: string | readonly string[] | undefined): boolean =>
  /\bclose\b/i.test(String(connection ?? ''));

export function spkiOf(socket: unknown): Uint8Array | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  return socket.getPeerX509Certificate()?.publicKey.export({ type: 'spki', format: 'der' });
}

/** Exports the connection's value (RFC 9266). Returns undefined without TLS, and on runtimes that export nothing. */
function exportedFrom(socket: unknown): ExportedChannel | undefined {
  if (!(socket instanceof TLSSocket) || typeof socket.exportKeyingMaterial !== 'function') return undefined;
  // Older versions can be made to export one value on two connections.
  if (socket.getProtocol() !== 'TLSv1.3') return { exporter: undefined };
  return { exporter: socket.exportKeyingMaterial(tlsExporter.bytes, tlsExporter.label, Buffer.alloc(0)) };
}
