import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type Receipt, receiptBytes } from '@sotto/attestation';
import { json, type StandInService } from './stand-in.ts';

interface SignerKey {
  readonly id: string;
  readonly secret: KeyObject;
}

/** An answer as the broker writes it. */
export interface BrokerAnswer {
  readonly pieces: readonly string[];
  readonly type?: string;
  readonly status?: number;
}

/** What stands between client and broker may change any of it. */
export interface Tampering {
  /** Changes the pieces after the broker has hashed them. */
  readonly pieces?: (pieces: readonly string[]) => readonly string[];
  /** Changes the status after the broker has signed it. */
  readonly status?: number;
  /** Closes the connection after the pieces. */
  readonly cuts?: boolean;
  /** Changes the fields that are signed: a broker that says so itself. */
  readonly signed?: Partial<Receipt>;
  /** Changes the receipt that the client gets. */
  readonly receipt?: (receipt: Receipt) => unknown;
  /** Called after the answer has ended, before the receipt is asked for. */
  readonly afterwards?: () => void;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A stand-in broker that signs a receipt of each chat, and gives it to who has its secret. */
export class SigningBroker {
  readonly #service: StandInService;
  readonly #receipts = new Map<string, Receipt>();
  #key: SignerKey;
  /** Secrets of all chats so far, and of all questions for a receipt. */
  readonly asked: string[] = [];
  readonly fetched: string[] = [];

  constructor(service: StandInService) {
    this.#service = service;
    this.#key = this.#newKey();
  }

  /** Starts again: with another key, and with the receipts that the shared state keeps. */
  restart(): void {
    this.#key = this.#newKey();
  }

  /** Answers every chat in this way from now on. */
  answers({ pieces, type = 'text/event-stream', status = 200 }: BrokerAnswer, tampering: Tampering = {}): void {
    this.#service.onBroker(({ path, headers, text }, response) => {
      const secret = String(headers['x-router-receipt']);
      if (path === '/v1/inference/receipt') {
        this.fetched.push(secret);
        const receipt = this.#receipts.get(secret);
        if (receipt === undefined) return json(response, 404, { error: { type: 'not_found', message: 'None.' } });
        return json(response, 200, (tampering.receipt ?? ((it) => it))(receipt) as object);
      }
      this.asked.push(secret);
      const complete = tampering.cuts !== true;
      this.#keep(secret, { status, complete, received_sha256: sha256(text), ...returned(pieces), ...tampering.signed });
      send(
        response,
        { pieces: (tampering.pieces ?? ((it) => it))(pieces), type, status: tampering.status ?? status },
        tampering,
      );
      tampering.afterwards?.();
    });
  }

  #keep(secret: string, of: Partial<Receipt>): void {
    const signed: Omit<Receipt, 'signature'> = {
      version: 'sotto.receipt.v1',
      key_id: this.#key.id,
      issued_at: 1_800_000_000,
      operation: 'chat',
      status: 200,
      received_sha256: sha256(''),
      attempts: [],
      returned_sha256: sha256(''),
      complete: true,
      bill: null,
      provider_registry_digest: `sha256:${'0'.repeat(64)}`,
      ...of,
    };
    const signature = sign(null, receiptBytes(signed), this.#key.secret).toString('hex');
    this.#receipts.set(secret, { ...signed, signature });
  }

  #newKey(): SignerKey {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex');
    const id = randomUUID();
    this.#service.states({ receiptKeys: [{ key_id: id, algorithm: 'ed25519', public_key: raw }] });
    return { id, secret: privateKey };
  }
}

const returned = (pieces: readonly string[]) => ({ returned_sha256: sha256(pieces.join('')) });

function send(response: ServerResponse, { pieces, type, status }: Required<BrokerAnswer>, { cuts }: Tampering): void {
  response.writeHead(status, { 'content-type': type });
  for (const piece of pieces) response.write(piece);
  if (cuts) response.write('', () => response.destroy());
  else response.end();
}
