import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { ServerCredentials } from '@sotto/attestation/testing';
import { replyId, type StandInEnclave, type StandInKind, standInEnclave } from '@sotto/client/testing';
import { listenOnLoopback } from '@sotto/test-servers';
import { answerChat, type SeenRequest, sendJson } from '../provider.ts';
import type { EnclaveKey, EnclaveKind } from './enclave-kinds.ts';
import { evidenceAnswers, type Shown } from './evidence.ts';
import type { TestGround } from './test-ground.ts';

const sealedKinds: Readonly<Record<EnclaveKind, StandInKind>> = {
  near: 'near-ed25519',
  'phala-aci': 'phala-aci-x25519',
  'phala-vllm-proxy': 'phala-vllm-proxy-ed25519',
  venice: 'venice',
  tinfoil: 'tinfoil',
  chutes: 'chutes',
};
export const chuteId = '6f1e5a52-0c0e-5c57-9a37-08e1c4f3a6b1';
const upstreamName = 'stand-in/model';
const sealedPaths = /e2ee|x-encryption-version|ehbp-encapsulated-key|x-chute-id|x-venice-tee-client/;

export interface EnclaveProviderOptions {
  readonly kind: EnclaveKind;
  readonly ground: TestGround;
}

/** A provider over HTTPS on loopback. Its model runs in a stand-in enclave, with real evidence under a test's root. */
export class EnclaveProvider {
  readonly kind: EnclaveKind;
  readonly enclave: StandInEnclave;
  /** Chat requests that reached the model. */
  readonly heard: SeenRequest[] = [];
  /** The number of requests for evidence. */
  asked = 0;
  /** Changes the evidence, to play a dishonest provider. */
  tamper: (shown: Shown) => Shown = (shown) => shown;
  /** Whether requests for evidence fail. */
  isSilent = false;
  /** The number of requests for a signature that find none yet. */
  signatureDelay = 0;
  #held = 0;
  #freed = Promise.withResolvers<void>();
  readonly #ground: TestGround;
  readonly #signing = generateKeyPairSync('ed25519');
  readonly #signatures = new Map<string, object>();
  readonly #server: Server;
  #credentials: ServerCredentials;
  #port = 0;

  private constructor({ kind, ground }: EnclaveProviderOptions, credentials: ServerCredentials) {
    this.kind = kind;
    this.#ground = ground;
    this.#credentials = credentials;
    this.enclave = standInEnclave(sealedKinds[kind]);
    this.#server = createServer({ cert: credentials.cert, key: credentials.key }, (request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        void this.#answer(request, response, Buffer.concat(pieces)).catch(() => response.destroy());
      });
      request.on('error', () => {});
      response.on('error', () => {});
    });
    this.#server.on('tlsClientError', () => {});
    this.#server.on('secureConnection', (socket: TLSSocket) => socket.on('error', () => {}));
  }

  static async start(options: EnclaveProviderOptions): Promise<EnclaveProvider> {
    const provider = new EnclaveProvider(options, await options.ground.certifyServer());
    provider.#port = await listenOnLoopback(provider.#server);
    return provider;
  }

  /** The `base_url` for a registry. */
  get baseUrl(): string {
    return `https://127.0.0.1:${this.#port}/v1`;
  }

  /** The `upstream_model` for a catalog. */
  get upstreamModel(): string {
    return this.kind === 'chutes' ? `${upstreamName}@${chuteId}` : upstreamName;
  }

  get tlsSpki(): Uint8Array {
    return this.#credentials.spki;
  }

  /**
   * Serves new connections with another key; open connections continue. The evidence names the new key, or still the old
   * one if `attested` is false.
   */
  async rotate({ attested = true } = {}): Promise<void> {
    const before = this.#credentials;
    const next = await this.#ground.certifyServer();
    this.#credentials = attested ? next : before;
    this.#server.setSecureContext(next);
  }

  /** Closes open connections, so that the next request needs a new one. */
  dropConnections(): void {
    this.#server.closeAllConnections();
  }

  /** Delays the next requests for evidence until the returned function is called. */
  holdEvidence(questions: number): () => void {
    this.#held = questions;
    this.#freed = Promise.withResolvers<void>();
    return this.#freed.resolve;
  }

  async stop(): Promise<void> {
    this.#freed.resolve();
    this.dropConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    const url = new URL(request.url ?? '/', 'https://stand-in');
    const evidence = Object.entries(evidenceAnswers[this.kind]).find(([path]) => url.pathname.startsWith(path));
    if (request.method === 'GET' && evidence !== undefined) {
      this.asked += 1;
      if (this.isSilent) return sendJson(response, 503, {});
      if (this.#held > 0) {
        this.#held -= 1;
        await this.#freed.promise;
      }
      return sendJson(response, 200, await evidence[1](this.tamper(this.#shown(url.searchParams))));
    }
    if (request.method === 'GET') return this.#sign(url, response);
    if (sealedPaths.test(Object.keys(request.headers).join())) return this.#answerSealed(request, response, body);
    return this.#answerOpen(request, response, body);
  }

  #shown(query: URLSearchParams): Shown {
    const standIn = this.enclave.nextKey() as EnclaveKey;
    const withTls = query.get('include_tls_fingerprint') === 'true';
    const signing = this.#signing.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
    return {
      ground: this.#ground,
      nonce: query.get('nonce') ?? '',
      model: query.get('model') ?? upstreamName,
      tlsSpki: this.#credentials.spki,
      certificate: this.#credentials.certificate,
      // If content arrives in clear, the enclave signs with a separate key.
      key: withTls ? { publicKey: Uint8Array.from(signing) } : standIn,
      withTls,
      now: Date.now(),
    };
  }

  async #answerSealed(request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    const headers = request.headers as Record<string, string | undefined>;
    const answer = await this.enclave.answer({ headers, body });
    response.writeHead(answer.status, answer.headers);
    const hash = createHash('sha256');
    for (const piece of answer.pieces) {
      hash.update(piece);
      response.write(piece);
    }
    this.#keep(replyId, body, { response: hash.digest('hex'), signer: this.#sealedSigner() });
    response.end();
  }

  async #answerOpen(request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    const seen: SeenRequest = {
      path: request.url ?? '',
      headers: request.headers,
      bytes: body,
      body: JSON.parse(body.toString()) as Record<string, unknown>,
      text: body.toString(),
      closed: new Promise((resolve) => response.once('close', () => resolve())),
    };
    this.heard.push(seen);
    const hash = createHash('sha256');
    const { write, end } = response;
    response.write = ((piece: string) => {
      hash.update(piece);
      return write.call(response, piece, 'utf8');
    }) as typeof response.write;
    response.end = ((piece = '') => {
      hash.update(piece as string);
      this.#keep('provider-own-id', body, { response: hash.digest('hex'), signer: this.#openSigner() });
      return end.call(response, piece, 'utf8');
    }) as typeof response.end;
    await answerChat()(seen, response);
  }

  #keep(id: string, body: Buffer, { response, signer }: { response: string; signer: Signer | undefined }): void {
    if (signer === undefined) return;
    const text = `${createHash('sha256').update(body).digest('hex')}:${response}`;
    const signature = signer.sign(text).toString('hex');
    const signing_address = Buffer.from(signer.address).toString('hex');
    this.#signatures.set(id, { text, signature, signing_address, signing_algo: 'ed25519' });
  }

  /** Signs answers to content that arrived in clear. */
  #openSigner(): Signer {
    const { privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject } = this.#signing;
    return {
      sign: (text) => sign(null, Buffer.from(text), privateKey),
      address: publicKey.export({ type: 'spki', format: 'der' }).subarray(-32),
    };
  }

  /** Signs sealed answers with the key that content is encrypted to, if that key signs. */
  #sealedSigner(): Signer | undefined {
    const { sign: signWith } = this.enclave;
    return signWith && { sign: signWith, address: this.enclave.nextKey().publicKey };
  }

  #sign(url: URL, response: ServerResponse): void {
    const id = url.searchParams.get('request_id') ?? url.pathname.split('/').at(-1) ?? '';
    const signature = this.#signatures.get(id);
    const isThere = signature !== undefined && this.signatureDelay <= 0;
    this.signatureDelay -= 1;
    sendJson(response, isThere ? 200 : 404, isThere ? signature : { error: { message: 'not found' } });
  }
}

interface Signer {
  readonly sign: (text: string) => Buffer;
  readonly address: Uint8Array;
}
